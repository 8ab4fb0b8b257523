import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { findDevices } from '../devices/index.ts';
import { listPresent } from './hosts.sql.ts';

export const list = operation(contract.hosts.list, async (context) => {
  const { accountId } = context.actor;
  const present = await listPresent(context.db, accountId);
  const ids = present.map((row) => row.device_id);
  const devices = new Map((await findDevices(context.db, accountId, ids)).map((device) => [device.id, device]));
  return {
    hosts: present.map((row) => ({
      device_id: row.device_id,
      name: devices.get(row.device_id)?.name ?? '',
      platform: devices.get(row.device_id)?.platform ?? '',
      os: row.os,
      hostname: row.hostname,
      roots: row.roots,
      since: Date.parse(row.since),
      last_seen: Date.parse(row.last_seen),
    })),
  };
});
