import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { operation } from '../../kernel/feature.ts';
import { deleteFolder } from './library/folders.sql.ts';

export const removeFolder = operation(contract.transcripts.removeFolder, async ({ db, actor }, { params }) => {
  if (!(await deleteFolder(db, actor.accountId, params.id))) throw notFound('folder');
  return { deleted: true as const, id: params.id };
});
