import { contract } from '@svc/contract';
import { notFound } from '../../kernel/http/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findSandbox } from './sandboxes.sql.ts';
import { toRecord } from './sandboxes.view.ts';

export const get = operation(contract.sandboxes.get, async ({ db, actor }, { params }) => {
  const row = await findSandbox(db, actor.accountId, params.id);
  if (!row) throw notFound('sandbox');
  return toRecord(row);
});
