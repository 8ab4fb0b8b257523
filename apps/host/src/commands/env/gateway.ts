import { type contract, type RouteOutput, uuid } from '@svc/contract';
import type { Client } from '@svc/sdk';
import { type CommonOptions, loadConfig } from '../../config.ts';
import { CommandError } from '../../failure.ts';
import { clientOf, signInAgain } from '../../gateway.ts';
import { createOutput, type Output } from '../../output.ts';
import { describeWithTrace } from '../../report.ts';
import { ensureStateDirectory, loadDevice } from '../../state.ts';

/** A machine as the gateway lists it. */
export type Environment = RouteOutput<typeof contract.environments.list>['environments'][number];

/** What a command of `svc env` works with. */
export interface EnvGateway {
  client: Client;
  output: Output;
  relay: RelayAccess;
}

/** How the relay is reached, by what is no call of the client. */
export interface RelayAccess {
  /** `{relay_url}`, without a slash at its end. */
  url: string;
  /** Key and device. */
  headers: Readonly<Record<string, string>>;
  /** What a person does about a key that is refused. */
  advice: string | undefined;
}

/** Opens the gateway as this device. */
export async function openGateway(options: CommonOptions): Promise<EnvGateway> {
  const config = loadConfig(options);
  const { key, relayUrl, stateDir, warnings } = config;
  const output = createOutput(key);
  for (const warning of warnings) output.log(warning);
  await ensureStateDirectory(stateDir);
  const { id, name } = await loadDevice(stateDir);
  const device = { id, ...(name && { name }) };
  return {
    client: clientOf(config, { device }),
    output,
    relay: {
      url: relayUrl,
      headers: { authorization: `Bearer ${key}`, 'x-svc-device': id },
      advice: signInAgain(config),
    },
  };
}

/** The environment that `target` names by its id or slug. Throws `CommandError`, with `code`, when the caller sees none. */
export async function findEnvironment(client: Client, target: string, code = 1): Promise<Environment> {
  const id = uuid.safeParse(target);
  if (id.success)
    return (await answered(client.environments.get({ params: { id: id.data } }), code, target)).environment;
  const all = await answered(
    listAll(client, ({ slug }) => slug === target),
    code,
    target,
  );
  const found = all.find(({ slug }) => slug === target);
  if (found) return found;
  throw new CommandError(`no environment of yours is called "${target}": see svc env list`, code);
}

/** The caller's environments, page after page, the newest first, until `isLast` says that this one is the last. */
export async function listAll(client: Client, isLast: (one: Environment) => boolean = () => false) {
  const all: Environment[] = [];
  for await (const one of client.environments.list.all({ query: { limit: 200 } })) {
    all.push(one);
    if (isLast(one)) break;
  }
  return all;
}

/** The answer of a call; throws its failure as one line with the exit code. */
export const answered = <T>(call: Promise<T>, code = 1, about?: string): Promise<T> =>
  call.catch((error: unknown) => {
    throw new CommandError(`${about === undefined ? '' : `${about}: `}${describeWithTrace(error)}`, code);
  });
