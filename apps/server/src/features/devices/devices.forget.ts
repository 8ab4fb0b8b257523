import type { Db } from '../../kernel/db/db.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { deleteDevice, lockServingKey } from './devices.sql.ts';

/** Clean-up of other features for a device, in the transaction that deletes it. */
export interface DeviceHooks {
  onRemoved: (tx: Db, device: { accountId: string; deviceId: string }) => Promise<void>;
}

/** Deletes a device of the account; answers the key that served as it, if one that counts did. Throws 404. */
export async function forgetDevice(tx: Db, accountId: string, id: string): Promise<string | undefined> {
  const servedBy = await lockServingKey(tx, accountId, id);
  if (!(await deleteDevice(tx, accountId, id))) throw notFound('device');
  return servedBy;
}
