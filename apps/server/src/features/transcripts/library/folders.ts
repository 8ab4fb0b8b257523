import type { folder } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../../kernel/db/db.ts';
import { badRequest, notFound } from '../../../kernel/base/errors.ts';
import { findFolder, type FolderRow, isBelow } from './folders.sql.ts';

/** A folder as the API shows it. */
export const toFolder = (row: FolderRow): z.input<typeof folder> => ({
  id: row.id,
  name: row.name,
  color: row.color,
  parent_id: row.parent_id,
  position: row.position,
  transcript_count: row.transcript_count,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

/** Throws 404 for a parent that is not there, 400 for one that stands in the folder itself. */
export async function checkParent(db: Db, accountId: string, parentId: string, id?: string): Promise<void> {
  if (!(await findFolder(db, accountId, parentId))) throw notFound('folder');
  if (id === undefined || !(await isBelow(db, parentId, id))) return;
  const message = 'is this folder or stands in it';
  throw badRequest(`parent_id: ${message}`, { parent_id: [message] });
}
