import { contract } from '@svc/contract';
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
    if (!(await replaceToken(tx, clock, { accountId, id, tokenHash }))) throw notFound('heartbeat');
    await writeAct(tx, { accountId, by, action: 'heartbeats.rotate', subject: id });
    return { ping_url: `${kernel.config.baseUrl}/ping/${token}` };
  }),
);
