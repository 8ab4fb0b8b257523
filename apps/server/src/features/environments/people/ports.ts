import { portVisibilities } from '@svc/contract';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { noteGone } from '../../../kernel/records/let-in.ts';
import { isAtLeast } from '../environments.access.ts';
import type { EnvironmentRole, EnvironmentRow, PortRow } from '../environments.rows.ts';
import type { Doer, Environments } from '../environments.store.ts';
import { deletePort, portsOf, putPort } from './ports.sql.ts';

/** Ports that an environment may publish. */
const mostPorts = 200;

/** Whether more people see a port that has one visibility than one that has another, or is not published (undefined). */
export const isWider = (one: PortRow['visibility'], other: PortRow['visibility'] | undefined): boolean =>
  other === undefined || portVisibilities.indexOf(one) > portVisibilities.indexOf(other);

/** Whether somebody may publish a port so; null: they have no role. Who is a developer reaches one for owners anyway. */
function mayPublish(role: EnvironmentRole | null, visibility: PortRow['visibility']): boolean {
  if (visibility === 'owner') return true;
  return role !== null && isAtLeast(role, visibility === 'public' ? 'maintainer' : 'developer');
}

/** Publishes no more what somebody opened for others by rights that they lost; `role`: what is left to them, null nothing. */
export async function closePortsOf(
  tx: Db,
  environments: Environments,
  row: EnvironmentRow,
  { accountId, role, doer }: { accountId: string; role: EnvironmentRole | null; doer: Doer },
): Promise<void> {
  for (const { port, visibility, opened_by, published_by } of await portsOf(tx, row.id)) {
    if ((published_by ?? opened_by) !== accountId || mayPublish(role, visibility)) continue;
    await deletePort(tx, row.id, port);
    await noteGone(tx, ['port'], `${row.id}/${port}`);
    const payload = { port, visibility, user_id: accountId, reason: 'publisher_lost_role' };
    await environments.tell(tx, row, doer, { kind: 'port_removed', payload });
  }
}

/** Publishes a port of a locked environment, or changes how it is. Throws 429 past 200. */
export async function publish(tx: Db, now: string, one: Parameters<typeof putPort>[2]): Promise<PortRow> {
  const before = await portsOf(tx, one.environment_id);
  if (before.length >= mostPorts && !before.some(({ port }) => port === one.port))
    throw new ApiError('quota_exceeded', `an environment publishes at most ${mostPorts} ports; remove one first`);
  return putPort(tx, now, one);
}
