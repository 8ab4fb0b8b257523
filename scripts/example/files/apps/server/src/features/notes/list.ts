import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listNotes } from './notes.sql.ts';
import { toNote } from './notes.view.ts';

export const list = operation(contract.notes.list, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await listNotes(db, actor.accountId, query), query.limit);
  return { notes: rows.map(toNote), ...next };
});
