import { contract } from '@svc/contract';
import { noteChange } from '../../kernel/records/app-changes.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { replaceToken } from './heartbeats.sql.ts';
import { hashToken, newToken } from './heartbeats.token.ts';

/** Every ping looks its token up in the database: once this is committed, no gateway knows the old one. */
export const rotate = operation(contract.heartbeats.rotate, (context, { params: { id } }) =>
  context.transaction(async (tx) => {
    const { kernel, clock, by } = context;
    const { accountId } = context.actor;
    const token = newToken();
    const tokenHash = hashToken(kernel.keyring, token) as Buffer;
    const name = await replaceToken(tx, clock, { accountId, id, tokenHash });
    if (name === undefined) throw notFound('heartbeat');
    await noteChange(tx, context.actor, { kind: 'ping_url', subject: id, name });
    await writeAct(tx, { accountId, by, action: 'heartbeats.rotate', subject: id });
    return { ping_url: `${kernel.config.baseUrl}/ping/${token}` };
  }),
);
