import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findConnection } from './connections.sql.ts';
import { toRecords } from './connections.view.ts';

export const get = operation(contract.connections.get, async ({ db, actor }, { params }) => {
  const row = await findConnection(db, actor.accountId, params.id);
  const [connection] = row ? await toRecords(db, [row]) : [];
  if (!connection) throw notFound('connection');
  return { connection };
});
