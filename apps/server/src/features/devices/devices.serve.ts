import type { Db } from '../../kernel/db/db.ts';
import { type Actor, isOwner } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { bindDevice, findServingKey, upsertDevice } from './devices.sql.ts';

/** A key that serves as a device. */
interface Serving {
  actor: Pick<Actor, 'accountId' | 'keyId' | 'scopes' | 'kind'>;
  deviceId: string;
  /** A key that may do everything takes the device over; if unset it is let through, and the device keeps its key. */
  takesOver?: boolean;
}

/** How a device is bound. */
interface Binding {
  accountId: string;
  deviceId: string;
  keyId: string;
  /** Those of the key. */
  scopes: readonly string[];
  /** From another key that is in use. */
  takesOver: boolean;
}

/**
 * Binds a device to the key that first serves as it, and throws 403 for every other key: a key that may be one host must not
 * become another. A key that was revoked or has expired holds no device, and one that may only serve holds one device.
 */
export async function serveAs(db: Db, { actor, deviceId, takesOver = false }: Serving): Promise<void> {
  const { accountId, keyId, scopes } = actor;
  const owner = isOwner(actor);
  if (owner && !takesOver) return;
  if ((await findServingKey(db, accountId, deviceId)) === keyId) return;
  await bindTo(db, { accountId, deviceId, keyId, scopes, takesOver: owner });
}

/** Whether the key is the one that serves as a device; one that has none takes it. */
export async function isServedBy(db: Db, serving: Serving): Promise<boolean> {
  const { actor, deviceId } = serving;
  const { accountId, keyId, scopes } = actor;
  if ((await findServingKey(db, accountId, deviceId)) === keyId) return true;
  return bind(db, { accountId, deviceId, keyId, scopes, takesOver: false });
}

/** A key that may only serve, as `svc host enroll` makes it. */
export const onlyServes = (scopes: readonly string[]): boolean =>
  scopes.every((scope) => /:(?:serve|read)$/.test(scope));

/** Throws 403 when the key may only serve, and does so as another device. */
async function bind(db: Db, { scopes, ...binding }: Binding): Promise<boolean> {
  try {
    return await bindDevice(db, { ...binding, isSole: onlyServes(scopes) });
  } catch (error) {
    if ((error as { constraint_name?: unknown }).constraint_name !== 'devices_by_sole_key') throw error;
    throw new ApiError(
      'forbidden',
      'this key serves as another device of the account; make one for this device: svc host enroll',
      { details: { device_id: binding.deviceId } },
    );
  }
}

/** Binds a device to a key; throws 403 when another key that is in use holds it, unless `takesOver`. */
export async function bindTo(db: Db, binding: Binding): Promise<void> {
  const { accountId, deviceId } = binding;
  if (await bind(db, binding)) return;
  // A claim may name its device in the body, where nothing has registered it yet.
  await upsertDevice(db, accountId, { id: deviceId });
  if (await bind(db, binding)) return;
  throw new ApiError(
    'forbidden',
    'this device serves with another key: start its daemon with that one, or make a new one for it with a key that has ' +
      'the scope "*" (svc host enroll)',
    { details: { device_id: deviceId } },
  );
}
