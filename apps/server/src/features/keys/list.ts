import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listKeys } from './keys.sql.ts';
import { toRecord } from './keys.view.ts';

export const list = operation(contract.keys.list, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await listKeys(db, actor.accountId, query), query.limit);
  return { keys: rows.map(toRecord), ...next };
});
