import { createHash } from 'node:crypto';
import { signAws } from '@svc/inference';
import { readAws } from '../providers/index.ts';
import {
  askCloud,
  type Cloud,
  CloudFailure,
  type CloudMachine,
  type CloudParts,
  keyOf,
  type NewMachine,
  type CloudAnswer,
  waitOf,
  wordsWithout,
} from './clouds.driver.ts';
import { elementsAt, readXml, textAt, type XmlElement } from './clouds.xml.ts';

const version = '2016-11-15';
/** Pages of a list, at most. */
const mostPages = 100;

/** The states of an instance in the words of all providers; one that is `terminated` is still listed for an hour. */
const statuses: Readonly<Record<string, CloudMachine['status'] | 'gone'>> = {
  pending: 'making',
  running: 'on',
  stopping: 'stopping',
  stopped: 'off',
  'shutting-down': 'leaving',
  terminated: 'gone',
};

/** Instances by the Query API of EC2. `ClientToken` keeps a repeated creation from making a second one. */
export function ec2(parts: CloudParts): Cloud {
  const { entry, installation } = parts;
  const ofInstallation: Filter = ['tag:svc-installation', installation];
  return {
    async create(machine) {
      const said = await ask(parts, 'RunInstances', bodyOf(parts, machine));
      const [made] = elementsAt(said, 'RunInstancesResponse', 'instancesSet', 'item').flatMap(toMachines);
      if (!made) throw new CloudFailure('lost', 'its answer names no instance');
      return made;
    },
    read: async (environmentId) =>
      (await listBy(parts, [ofInstallation, ['tag:svc-environment', environmentId]])).at(0),
    list: () => listBy(parts, [ofInstallation]),
    async start(ref) {
      await ask(parts, 'StartInstances', { 'InstanceId.1': ref });
    },
    async stop(ref, force) {
      await ask(parts, 'StopInstances', { 'InstanceId.1': ref, ...(force && { Force: 'true' }) });
    },
    async delete(ref) {
      await ask(parts, 'TerminateInstances', { 'InstanceId.1': ref }).catch((error: unknown) => {
        if (!(error instanceof CloudFailure) || error.kind !== 'gone') throw error;
      });
    },
    async typeOf(size) {
      const said = await ask(parts, 'DescribeInstanceTypes', { 'InstanceType.1': entry.types[size] });
      const name = textAt(said, 'DescribeInstanceTypesResponse', 'instanceTypeSet', 'item', 'instanceType');
      if (name === undefined) throw new CloudFailure('refused', `it has no machine type ${entry.types[size]}`);
      return name;
    },
  };
}

const bodyOf = ({ entry, installation }: CloudParts, machine: NewMachine): Record<string, string> => {
  const tags = { 'svc-environment': machine.environmentId, 'svc-installation': installation, Name: 'svc environment' };
  const tagged = Object.entries(tags).flatMap(([key, value], at) => [
    [`TagSpecification.1.Tag.${at + 1}.Key`, key],
    [`TagSpecification.1.Tag.${at + 1}.Value`, value],
  ]);
  return {
    ImageId: entry.image,
    InstanceType: entry.types[machine.size],
    MinCount: '1',
    MaxCount: '1',
    ClientToken: machine.once,
    UserData: Buffer.from(machine.userData).toString('base64'),
    InstanceInitiatedShutdownBehavior: 'stop',
    // What runs on it cannot be led to read its metadata by a plain request.
    'MetadataOptions.HttpTokens': 'required',
    ...(entry.subnet !== undefined && { SubnetId: entry.subnet }),
    'TagSpecification.1.ResourceType': 'instance',
    ...(Object.fromEntries(tagged) as Record<string, string>),
  };
};

type Filter = readonly [name: string, value: string];

async function listBy(parts: CloudParts, filters: readonly Filter[]): Promise<CloudMachine[]> {
  const asked = Object.fromEntries(
    filters.flatMap(([name, value], at) => [
      [`Filter.${at + 1}.Name`, name],
      [`Filter.${at + 1}.Value.1`, value],
    ]),
  ) as Record<string, string>;
  const found: CloudMachine[] = [];
  let next: string | undefined;
  for (let n = 0; n < mostPages && (n === 0 || next !== undefined); n += 1) {
    const said = await ask(parts, 'DescribeInstances', { ...asked, ...(next !== undefined && { NextToken: next }) });
    const path = ['DescribeInstancesResponse', 'reservationSet', 'item', 'instancesSet', 'item'];
    found.push(...elementsAt(said, ...path).flatMap(toMachines));
    next = textAt(said, 'DescribeInstancesResponse', 'nextToken');
  }
  return found;
}

function toMachines(instance: XmlElement): CloudMachine[] {
  const ref = textAt(instance, 'instanceId');
  const status = statuses[textAt(instance, 'instanceState', 'name') ?? ''] ?? 'making';
  if (ref === undefined || status === 'gone') return [];
  const tag = elementsAt(instance, 'tagSet', 'item').find((item) => textAt(item, 'key') === 'svc-environment');
  const environmentId = tag && textAt(tag, 'value');
  return [{ ref, environmentId, status, address: textAt(instance, 'ipAddress') ?? null }];
}

/** Asks for an action, signed; answers the document that it says. */
async function ask(parts: CloudParts, action: string, given: Record<string, string>): Promise<XmlElement> {
  const { kernel, entry } = parts;
  const key = await keyOf(entry);
  const body = new URLSearchParams({ Action: action, Version: version, ...given }).toString();
  const url = new URL(`${entry.baseUrl}/`);
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const bodySha256 = createHash('sha256').update(body).digest('hex');
  const request = { method: 'POST', url, headers, bodySha256, at: kernel.clock.now() };
  const credentials = credentialsOf(key);
  const signed = signAws({ ...request, region: entry.regionThere, service: 'ec2' }, credentials);
  const said = await askCloud(kernel, url, { method: 'POST', headers: { ...headers, ...signed }, body });
  if (said.status >= 200 && said.status < 300) return parsed(said.text);
  const { secretAccessKey, accessKeyId, sessionToken } = credentials;
  throw refusalOf(parts, said, [key, secretAccessKey, sessionToken, accessKeyId]);
}

function credentialsOf(key: string): ReturnType<typeof readAws> {
  try {
    return readAws(key);
  } catch (error) {
    throw new CloudFailure('busy', `it is off: ${(error as Error).message}`);
  }
}

function parsed(text: string): XmlElement {
  try {
    return readXml(text);
  } catch {
    throw new CloudFailure('lost', 'its answer is no XML');
  }
}

/** Codes that are over soon, or that the operator mends: the key of an installation is nothing an environment fails of. */
const passing =
  /^(?:RequestLimitExceeded|Throttling\w*|\w*IncorrectInstanceState|AuthFailure|InvalidClientTokenId|SignatureDoesNotMatch|RequestExpired|IdempotentParameterMismatch)$/;

function refusalOf({ kernel }: CloudParts, { status, headers, text }: CloudAnswer, secrets: (string | undefined)[]) {
  const [error] = text.includes('<') ? elementsAt(parsed(text), 'Response', 'Errors', 'Error') : [];
  const code = (error && textAt(error, 'Code')) ?? '';
  const words = wordsWithout((error && textAt(error, 'Message')) ?? code, secrets);
  const message = `it answered ${status}${words === '' ? '' : `: ${words}`}`;
  const waitMs = waitOf(headers, kernel.clock);
  if (/^Insufficient\w*Capacity$/.test(code)) return new CloudFailure('full', message, waitMs);
  if (code.startsWith('InvalidInstanceID.')) return new CloudFailure('gone', message);
  if (status === 429 || passing.test(code)) return new CloudFailure('busy', message, waitMs ?? 30_000);
  if (status >= 500) return new CloudFailure('lost', message, waitMs);
  return status === 401 ? new CloudFailure('busy', message, waitMs) : new CloudFailure('refused', message);
}
