import { contract } from '@svc/contract';
import { isOwner } from '../../kernel/base/actor.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { type DeviceHooks, forgetDevice, onlyServes } from '../devices/index.ts';
import { findTerms, revokeWithin } from '../keys/index.ts';
import { machineOf } from './machines.view.ts';

const ofEnvironment = (id: string): ApiError =>
  new ApiError('forbidden', 'this is the machine of an environment: archive or destroy that, and it goes with it', {
    details: { environment_id: id },
  });
const otherKey = (): ApiError =>
  new ApiError('forbidden', 'another key that may do more serves as this machine: revoke that key first');

/**
 * Forgets a machine, and revokes the key that it serves with when that key can do nothing else. Another key is a person's: it
 * stays, and only who may do everything forgets its machine.
 */
export const remove = ({ onRemoved }: DeviceHooks): Operation =>
  operation(contract.machines.remove, (context, { params: { device_id: deviceId } }) =>
    context.transaction(async (tx) => {
      const { actor, by, kernel, clock } = context;
      const { accountId } = actor;
      const { environment_id: environmentId } = await machineOf(tx, clock, accountId, deviceId);
      if (environmentId !== null) throw ofEnvironment(environmentId);
      const keyId = await forgetDevice(tx, accountId, deviceId);
      const isItsOwn = keyId !== undefined && onlyServes((await findTerms(tx, keyId))?.scopes ?? ['*']);
      if (keyId !== undefined && !isItsOwn && keyId !== actor.keyId && !isOwner(actor)) throw otherKey();
      await onRemoved(tx, { accountId, deviceId });
      if (keyId !== undefined && isItsOwn) await revokeWithin(tx, kernel, keyId, { accountId, by });
      const details = { key_id: keyId, key_revoked: isItsOwn };
      await writeAct(tx, { accountId, by, action: 'machines.remove', subject: deviceId, details });
      return { deleted: true as const, device_id: deviceId, key_revoked: isItsOwn };
    }),
  );
