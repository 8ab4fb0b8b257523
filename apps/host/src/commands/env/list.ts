import type { contract, RouteOutput } from '@svc/contract';
import type { Client } from '@svc/sdk';
import type { CommonOptions } from '../../config.ts';
import { describeFailure } from '../../report.ts';
import { table } from '../../table.ts';
import { answered, type Environment, listAll, openGateway } from './gateway.ts';
import { doAll } from './places.ts';

type Role = RouteOutput<typeof contract.environments.get>['role'];

/** An environment, the caller's role in it, and its machine as the relay sees it; null: it did not answer. */
interface Seen {
  environment: Environment;
  role: Role | null;
  online: boolean | null;
  usable: boolean | null;
}

/** Environments that are asked about at a time. */
const atOnce = 8;
/** States in which there is no machine. */
const without: ReadonlySet<Environment['state']> = new Set(['pending', 'archived', 'destroyed']);

/** `svc env list`: the caller's environments, as a table or as JSON. */
export async function listEnvironments(options: CommonOptions): Promise<void> {
  const { client, output } = await openGateway(options);
  const all = await answered(listAll(client));
  const faults = new Set<string>();
  const seen = await doAll(all, atOnce, (one) => look(client, one, (error) => faults.add(describeFailure(error))));
  for (const fault of faults) output.log(fault);
  if (options.json) {
    const environments = seen.map(({ environment, ...rest }) => ({ ...environment, ...rest }));
    return output.json({ environments });
  }
  if (seen.length === 0) return output.log('there is no environment in which you have a role');
  const rows = seen.map(({ environment: { id, slug, name, state, provider }, role, online, usable }) => [
    slug,
    name,
    state,
    usable ? 'usable' : online ? 'online' : online === null ? '?' : '',
    role ?? '?',
    provider,
    id,
  ]);
  for (const line of table([['SLUG', 'NAME', 'STATE', 'MACHINE', 'ROLE', 'PROVIDER', 'ID'], ...rows]))
    output.line(line);
}

async function look(client: Client, environment: Environment, onFault: (error: unknown) => void): Promise<Seen> {
  const params = { id: environment.id };
  const fault = (error: unknown): undefined => {
    onFault(error);
    return undefined;
  };
  const [whole, status] = await Promise.all([
    client.environments.get({ params }).catch(fault),
    without.has(environment.state) ? { online: false, usable: false } : client.relay.status({ params }).catch(fault),
  ]);
  return { environment, role: whole?.role ?? null, online: status?.online ?? null, usable: status?.usable ?? null };
}
