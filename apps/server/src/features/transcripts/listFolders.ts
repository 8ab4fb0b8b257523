import { contract } from '@svc/contract';
import { pageOf } from '../../kernel/db/paging.ts';
import { operation } from '../../kernel/feature.ts';
import { listFolders as find } from './library/folders.sql.ts';
import { toFolder } from './library/folders.ts';

export const listFolders = operation(contract.transcripts.listFolders, async ({ db, actor }, { query }) => {
  const { rows, next } = pageOf(await find(db, actor.accountId, query), query.limit);
  return { folders: rows.map(toFolder), ...next };
});
