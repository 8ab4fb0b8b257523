import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { operation } from '../../kernel/feature.ts';
import { changeFolder, type FolderChange, lockFolders } from './library/folders.sql.ts';
import { checkParent, toFolder } from './library/folders.ts';

export const updateFolder = operation(contract.transcripts.updateFolder, (context, { params, body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const { name, color, parent_id: parentId, position } = body;
    // Two moves at once must not make a circle.
    await lockFolders(tx, accountId);
    if (typeof parentId === 'string') await checkParent(tx, accountId, parentId, params.id);
    const change: FolderChange = {
      ...(name !== undefined && { name }),
      ...(color !== undefined && { color }),
      ...(parentId !== undefined && { parent_id: parentId }),
      ...(position !== undefined && { position: position ?? 0 }),
    };
    const row = await changeFolder(tx, (await readNow(tx, context.clock)).iso, accountId, params.id, change);
    if (!row) throw notFound('folder');
    return { folder: toFolder(row) };
  }),
);
