import { contract } from '@svc/contract';
import { noteGone } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deletePingKey } from './heartbeats.keys.sql.ts';

export const removePingKey = operation(contract.heartbeats.removePingKey, (context) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    if (!(await deletePingKey(tx, accountId))) throw notFound('ping key');
    await noteGone(tx, ['ping_key'], accountId);
    await writeAct(tx, { accountId, by: context.by, action: 'heartbeats.removePingKey' });
    return { deleted: true as const };
  }),
);
