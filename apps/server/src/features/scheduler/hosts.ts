import { contract, type schedulerHost } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { findDevices } from '../devices/index.ts';
import { type HostRow, listHosts } from './claims/hosts.sql.ts';

export const hosts = operation(contract.scheduler.hosts, async (context, { query }) => {
  const { accountId } = context.actor;
  const { iso: now } = await readNow(context.db, context.clock);
  const { rows, next } = pageOf(await listHosts(context.db, accountId, now, query), query.limit);
  return { hosts: await viewHosts(context.db, accountId, rows), ...next };
});

/** Machines as they are answered, with the names and platforms of their devices. */
export async function viewHosts(
  db: Db,
  accountId: string,
  rows: readonly HostRow[],
): Promise<z.input<typeof schedulerHost>[]> {
  const ids = rows.map((row) => row.device_id);
  const devices = new Map((await findDevices(db, accountId, ids)).map((device) => [device.id, device]));
  return rows.map(({ max_parallel: most, name, kinds, ...row }) => ({
    ...row,
    kinds: kinds as z.input<typeof schedulerHost>['kinds'],
    name: name ?? devices.get(row.device_id)?.name ?? '',
    platform: devices.get(row.device_id)?.platform ?? '',
    ...(most !== null && { max_parallel: most }),
  }));
}
