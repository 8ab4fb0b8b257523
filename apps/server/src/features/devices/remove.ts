import { contract } from '@svc/contract';
import { isOwner } from '../../kernel/base/actor.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import type { DeviceHooks } from './devices.forget.ts';
import { deleteDevice, lockServingKey } from './devices.sql.ts';

const isServed = (): ApiError =>
  new ApiError('forbidden', 'another key serves as this device: revoke that key first, or use one with the scope "*"');

/**
 * Forgets a device. One that calls again is a new one: to keep it away, revoke its key. A device that a key serves is deleted by
 * that key or one with `*`: the next key that serves under its id gets its commands.
 */
export const remove = ({ onRemoved }: DeviceHooks): Operation =>
  operation(contract.devices.remove, (context, { params: { id } }) =>
    context.transaction(async (tx) => {
      const { actor, by } = context;
      const { accountId } = actor;
      const servedBy = await lockServingKey(tx, accountId, id);
      if (servedBy !== undefined && servedBy !== actor.keyId && !isOwner(actor)) throw isServed();
      if (!(await deleteDevice(tx, accountId, id))) throw notFound('device');
      await onRemoved(tx, { accountId, deviceId: id });
      await writeAct(tx, { accountId, by, action: 'devices.remove', subject: id });
      return { deleted: true as const, id };
    }),
  );
