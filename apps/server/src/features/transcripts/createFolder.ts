import { contract } from '@svc/contract';
import { operation } from '../../kernel/feature.ts';
import { checkQuota } from '../../kernel/records/quotas.ts';
import { foldersQuota, insertFolder } from './library/folders.sql.ts';
import { checkParent, toFolder } from './library/folders.ts';

export const createFolder = operation(contract.transcripts.createFolder, (context, { body }) =>
  context.transaction(async (tx) => {
    const { accountId } = context.actor;
    const { name, color = null, parent_id = null, position } = body;
    if (parent_id !== null) await checkParent(tx, accountId, parent_id);
    await checkQuota(context.kernel.config, tx, foldersQuota, accountId);
    return { folder: toFolder(await insertFolder(tx, context.clock, accountId, { name, color, parent_id, position })) };
  }),
);
