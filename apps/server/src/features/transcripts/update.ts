import { contract } from '@svc/contract';
import { notFound } from '../../kernel/base/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { findFolder } from './library/folders.sql.ts';
import type { TranscriptChange } from './transcripts.rows.ts';
import type { Transcripts } from './transcripts.store.ts';

export const update = (transcripts: Transcripts): Operation =>
  operation(contract.transcripts.update, async (context, { params, body }) => {
    const { accountId } = context.actor;
    const row = await context.transaction(async (tx) => {
      const locked = await transcripts.lock(tx, accountId, params.id);
      const { title, language, folder_id: folder, tags, pinned, consent } = body;
      if (typeof folder === 'string' && !(await findFolder(tx, accountId, folder))) throw notFound('folder');
      const now = await readNow(tx, context.clock);
      const change: TranscriptChange = {
        ...(title !== undefined && { title }),
        ...(language !== undefined && { language }),
        ...(folder !== undefined && { folder_id: folder }),
        ...(tags !== undefined && { tags: [...new Set(tags)] }),
        ...(pinned !== undefined && { pinned_at: pinned ? (locked.pinned_at ?? now.iso) : null }),
        ...(consent !== undefined && { consent }),
      };
      return Object.keys(change).length === 0 ? locked : transcripts.change(tx, locked, change);
    });
    return { transcript: await transcripts.whole(context.db, row) };
  });
