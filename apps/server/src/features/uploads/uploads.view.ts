import type { upload } from '@svc/contract';
import type { z } from 'zod';
import { metadataOf, reprDigest } from './uploads.tus.ts';
import type { UploadRow } from './uploads.sql.ts';

/** An upload as the API shows it. */
export function toUpload(row: UploadRow): z.input<typeof upload> {
  return {
    id: row.id,
    offset: row.at,
    length: row.length,
    metadata: metadataOf(row.metadata),
    created_at: row.created_at,
    ...(row.sha256 && { sha256: row.sha256.toString('hex') }),
    ...(row.completed_at !== null && { completed_at: row.completed_at }),
    ...(row.expires_at !== null && { expires_at: row.expires_at }),
    ...(row.transcript_id !== null && { transcript_id: row.transcript_id }),
  };
}

/** How far an upload is, as tus tells it. */
export const offsetHeaders = (row: UploadRow): Record<string, string> => ({
  'upload-offset': String(row.at),
  'cache-control': 'no-store',
  ...(row.expires_at !== null && { 'upload-expires': new Date(row.expires_at).toUTCString() }),
});

/** The same with what it was begun with. */
export const stateHeaders = (row: UploadRow): Record<string, string> => ({
  ...offsetHeaders(row),
  'upload-length': String(row.length),
  ...(row.metadata !== '' && { 'upload-metadata': row.metadata }),
  ...(row.sha256 && { 'repr-digest': reprDigest(row.sha256) }),
});
