import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { findFolder } from './library/folders.sql.ts';
import { toFolder } from './library/folders.ts';

export const getFolder = operation(contract.transcripts.getFolder, async ({ db, actor }, { params }) => {
  const row = await findFolder(db, actor.accountId, params.id);
  if (!row) throw notFound('folder');
  return { folder: toFolder(row) };
});
