import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import type { Deleting } from '../../../kernel/deletion.ts';
import { FeedWriter } from '../../../kernel/streams/feed.writer.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { findDevices } from '../../devices/index.ts';
import { passOn } from '../environments.machines.ts';
import { heldBy } from '../environments.machines.sql.ts';
import { tellPassedOn, type Teller } from './notify.ts';
import type { EnvironmentRow } from '../environments.rows.ts';
import { lockEnvironment, publishedIn } from '../environments.sql.ts';
import { type Doer, Environments } from '../environments.store.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { createMetrics } from '../../../kernel/base/metrics.ts';
import { closePortsOf } from './ports.ts';

/**
 * Gives a locked environment of an account that is no owner any more to one who has agreed to own it, and tells them.
 */
export async function passOnTold(
  kernel: Teller & Pick<Kernel, 'gateways'>,
  tx: Db,
  from: string,
  row: EnvironmentRow,
): Promise<void> {
  const heir = await passOn(tx, kernel, from, row.id);
  if (heir !== undefined) await tellPassedOn(kernel, tx, row, { heir, from });
}

/** The same for all that are an account's that is being deleted, or that have a key of it. */
export async function passOnAll(parts: Deleting, accountId: string): Promise<void> {
  const kernel = { ...parts, feed: new FeedWriter(parts) };
  for (const id of await heldBy(parts.sql, accountId))
    await inTransaction(parts.sql, async (tx) => {
      const row = await lockEnvironment(tx, id);
      if (row) await passOnTold(kernel, tx, accountId, row);
    });
}

/** Closes the ports that an account which is being deleted opened in environments of others. */
export async function closeAllPorts(parts: Deleting, accountId: string): Promise<void> {
  const environments = new Environments({ ...parts, feed: new FeedWriter(parts), metrics: createMetrics() });
  const doer: Doer = { accountId: null, kind: 'system', by: bySystem };
  for (const id of await publishedIn(parts.sql, accountId))
    await inTransaction(parts.sql, async (tx) => {
      const row = await lockEnvironment(tx, id);
      if (row) await closePortsOf(tx, environments, row, { accountId, role: null, doer });
    });
}

/** Whether the machine of an environment serves it with a key of this person's own, which ends with their account. */
export async function servesWith(
  tx: Db,
  { provider, device_id: deviceId }: EnvironmentRow,
  accountId: string,
): Promise<boolean> {
  return provider === 'byo' && deviceId !== null && (await findDevices(tx, accountId, [deviceId])).length > 0;
}
