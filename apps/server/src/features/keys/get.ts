import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findKey } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

export const get = operation(contract.keys.get, async ({ db, actor }, { params }) => {
  const row = await findKey(db, actor.accountId, params.id);
  if (!row) throw notFound('key');
  return toRecord(row);
});
