import { contract } from '@svc/contract';
import { noteLetIn } from '../../kernel/records/let-in.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { operation } from '../../kernel/feature.ts';
import { replacePingKey } from './heartbeats.keys.sql.ts';
import { hashPingKey, newPingKey } from './heartbeats.token.ts';

/** Makes the account's ping key, in place of the one that it may have. */
export const createPingKey = operation(contract.heartbeats.createPingKey, (context) =>
  context.transaction(async (tx) => {
    const { kernel, clock, actor, by } = context;
    const { accountId } = actor;
    const pingKey = newPingKey();
    const hash = hashPingKey(kernel.keyring, pingKey) as Buffer;
    const createdAt = await replacePingKey(tx, clock, accountId, hash);
    await noteLetIn(tx, actor, { kind: 'ping_key', subject: accountId, name: '' });
    await writeAct(tx, { accountId, by, action: 'heartbeats.createPingKey' });
    return { ping_key: pingKey, created_at: createdAt };
  }),
);
