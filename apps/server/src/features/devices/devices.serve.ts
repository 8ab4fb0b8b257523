import type { Db } from '../../kernel/db/db.ts';
import type { Actor } from '../../kernel/http/actor.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { bindDevice, findServingKey, upsertDevice } from './devices.sql.ts';

/** Who serves as which device, as a key says. */
interface Serving {
  actor: Pick<Actor, 'accountId' | 'keyId' | 'scopes'>;
  deviceId: string;
  /** A key that may do everything takes the device over; if unset it is let through, and the device keeps its key. */
  takesOver?: boolean;
}

/**
 * Binds a device to the key that first serves as it, and throws 403 for every other key: whoever may be a host must not
 * become another one. A key that was revoked or has expired holds no device.
 */
export async function serveAs(db: Db, { actor, deviceId, takesOver = false }: Serving): Promise<void> {
  const { accountId, keyId } = actor;
  const owner = actor.scopes.includes('*');
  if (owner && !takesOver) return;
  if ((await findServingKey(db, accountId, deviceId)) === keyId) return;
  await bindTo(db, { accountId, deviceId, keyId, takesOver: owner });
}

/** Binds a device to a key; throws 403 when another key that is in use holds it, unless `takesOver`. */
export async function bindTo(
  db: Db,
  binding: { accountId: string; deviceId: string; keyId: string; takesOver: boolean },
): Promise<void> {
  const { accountId, deviceId } = binding;
  if (await bindDevice(db, binding)) return;
  // A claim may name its device in the body, where nothing has registered it yet.
  await upsertDevice(db, accountId, { id: deviceId });
  if (await bindDevice(db, binding)) return;
  throw new ApiError(
    'forbidden',
    'this device serves with another key: start its daemon with that one, or make a new one for it with a key that has ' +
      'the scope "*" (svc host enroll)',
    { details: { device_id: deviceId } },
  );
}
