import { objectOf, objectsOf, textOf, type Value } from '@svc/inference';
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

const pageSize = 50;
/** Pages of a list, at most: 5,000 machines. */
const mostPages = 100;

/** The states of a server in the words of all providers; others (`migrating`, `unknown`) say nothing yet. */
const statuses: Readonly<Record<string, CloudMachine['status']>> = {
  initializing: 'making',
  starting: 'making',
  running: 'on',
  stopping: 'stopping',
  off: 'off',
  deleting: 'leaving',
};

/** Servers of Hetzner Cloud. A server's name is unique in a project there, so a repeated creation makes no second one. */
export function hetzner(parts: CloudParts): Cloud {
  const { entry, installation } = parts;
  const one = async (environmentId: string): Promise<CloudMachine | undefined> =>
    (await listBy(parts, `svc-installation==${installation},svc-environment==${environmentId}`)).at(0);
  return {
    async create(machine) {
      try {
        const said = await ask(parts, 'POST', '/servers', bodyOf(parts, machine));
        return toMachine(objectOf(said['server']));
      } catch (error) {
        const there = isTaken(error) ? await one(machine.environmentId) : undefined;
        if (!there) throw error;
        return there;
      }
    },
    read: one,
    list: () => listBy(parts, `svc-installation==${installation}`),
    async start(ref) {
      await ask(parts, 'POST', `/servers/${ref}/actions/poweron`);
    },
    async stop(ref, force) {
      await ask(parts, 'POST', `/servers/${ref}/actions/${force ? 'poweroff' : 'shutdown'}`);
    },
    async delete(ref) {
      await ask(parts, 'DELETE', `/servers/${ref}`).catch(unlessGone);
    },
    async typeOf(size) {
      const wanted = entry.types[size];
      const said = await ask(parts, 'GET', `/server_types?name=${encodeURIComponent(wanted)}`);
      const name = textOf(objectsOf(said['server_types'])[0]?.['name']);
      if (name === undefined) throw new CloudFailure('refused', `it has no machine type ${wanted}`);
      return name;
    },
  };
}

const isTaken = (error: unknown): boolean => error instanceof CloudFailure && error.kind === 'taken';

function unlessGone(error: unknown): void {
  if (!(error instanceof CloudFailure) || error.kind !== 'gone') throw error;
}

const bodyOf = ({ entry, installation }: CloudParts, machine: NewMachine): object => ({
  name: `svc-${machine.environmentId}`,
  server_type: entry.types[machine.size],
  image: entry.image,
  location: entry.regionThere,
  user_data: machine.userData,
  labels: { 'svc-environment': machine.environmentId, 'svc-installation': installation },
  start_after_create: true,
});

async function listBy(parts: CloudParts, selector: string): Promise<CloudMachine[]> {
  const found: CloudMachine[] = [];
  let page: unknown = 1;
  for (let n = 0; n < mostPages && typeof page === 'number'; n += 1) {
    const query = new URLSearchParams({ label_selector: selector, page: String(page), per_page: String(pageSize) });
    const said = await ask(parts, 'GET', `/servers?${query.toString()}`);
    found.push(...objectsOf(said['servers']).map(toMachine));
    page = objectOf(objectOf(said['meta'])['pagination'])['next_page'];
  }
  return found;
}

function toMachine(server: Value): CloudMachine {
  const { id } = server;
  if (typeof id !== 'number') throw new CloudFailure('lost', 'its answer names no server');
  return {
    ref: String(id),
    environmentId: textOf(objectOf(server['labels'])['svc-environment']),
    status: statuses[textOf(server['status']) ?? ''] ?? 'making',
    address: textOf(objectOf(objectOf(server['public_net'])['ipv4'])['ip']) ?? null,
  };
}

/** Asks; answers the object that it says, `{}` for an answer without a body. */
async function ask(parts: CloudParts, method: string, path: string, body?: object): Promise<Value> {
  const { kernel, entry } = parts;
  const key = await keyOf(entry);
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) };
  const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const said = await askCloud(kernel, new URL(entry.baseUrl + path), sent);
  if (said.status >= 200 && said.status < 300) return said.text === '' ? {} : objectOf(parsed(said.text));
  throw refusalOf(parts, said, key);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new CloudFailure('lost', 'its answer is no JSON');
  }
}

function refusalOf({ kernel }: CloudParts, { status, headers, text }: CloudAnswer, key: string): CloudFailure {
  const error = text.startsWith('{') ? objectOf(objectOf(parsed(text))['error']) : {};
  const code = textOf(error['code']) ?? '';
  const words = wordsWithout(textOf(error['message']) ?? code, [key]);
  const message = `it answered ${status}${words === '' ? '' : `: ${words}`}`;
  const waitMs = waitOf(headers, kernel.clock);
  // A type that is sold out, or a host with no room.
  if (code === 'resource_unavailable' || code === 'placement_error') return new CloudFailure('full', message, waitMs);
  if (code === 'uniqueness_error') return new CloudFailure('taken', message);
  if (status === 404) return new CloudFailure('gone', message);
  if (status === 429) return new CloudFailure('busy', message, waitMs ?? 30_000);
  // 409 `conflict` and 423 `locked`: another action on the server is under way. 401: the operator mends the token.
  if (status >= 500) return new CloudFailure('lost', message, waitMs);
  if ([401, 408, 409, 423].includes(status)) return new CloudFailure('busy', message, waitMs);
  return new CloudFailure('refused', message);
}
