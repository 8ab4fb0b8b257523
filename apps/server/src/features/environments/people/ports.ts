import { portVisibilities } from '@svc/contract';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Db } from '../../../kernel/db/db.ts';
import type { PortRow } from '../environments.rows.ts';
import { portsOf, putPort } from './ports.sql.ts';

/** Ports that an environment may publish. */
const mostPorts = 200;

/** Whether more people see a port that has one visibility than one that has another, or is not published (undefined). */
export const isWider = (one: PortRow['visibility'], other: PortRow['visibility'] | undefined): boolean =>
  other === undefined || portVisibilities.indexOf(one) > portVisibilities.indexOf(other);

/** Publishes a port of a locked environment, or changes how it is. Throws 429 past 200. */
export async function publish(tx: Db, now: string, one: Parameters<typeof putPort>[2]): Promise<PortRow> {
  const before = await portsOf(tx, one.environment_id);
  if (before.length >= mostPorts && !before.some(({ port }) => port === one.port))
    throw new ApiError('quota_exceeded', `an environment publishes at most ${mostPorts} ports; remove one first`);
  return putPort(tx, now, one);
}
