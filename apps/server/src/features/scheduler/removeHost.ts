import { contract } from '@svc/contract';
import { writeAct } from '../../kernel/records/audit.ts';
import { operation } from '../../kernel/feature.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { withdrawApprovals } from '../schedules/index.ts';
import { deleteHost } from './claims/hosts.sql.ts';

/** Forgets a machine. One that claims again is listed again, and has no command approved. */
export const removeHost = operation(contract.scheduler.removeHost, (context, { params: { id } }) =>
  context.transaction(async (tx) => {
    const { actor, by } = context;
    const { accountId } = actor;
    const deviceId = await deleteHost(tx, accountId, { id });
    if (deviceId === undefined) throw notFound('host');
    await withdrawApprovals(tx, accountId, deviceId);
    const details = { device_id: deviceId };
    await writeAct(tx, { accountId, by, action: 'scheduler.removeHost', subject: id, details });
    return { deleted: true as const, id };
  }),
);
