import type { host } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { findDevices } from '../devices/index.ts';
import type { PresenceRow } from './hosts.sql.ts';

/** Present hosts as they are answered, with the names and platforms of their devices. */
export async function viewHosts(
  db: Db,
  accountId: string,
  present: readonly PresenceRow[],
): Promise<z.input<typeof host>[]> {
  const ids = present.map((row) => row.device_id);
  const devices = new Map((await findDevices(db, accountId, ids)).map((device) => [device.id, device]));
  return present.map((row) => ({
    device_id: row.device_id,
    name: devices.get(row.device_id)?.name ?? '',
    platform: devices.get(row.device_id)?.platform ?? '',
    os: row.os,
    hostname: row.hostname,
    roots: row.roots,
    since: Date.parse(row.since),
    last_seen: Date.parse(row.last_seen),
  }));
}
