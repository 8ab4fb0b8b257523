import type { key } from '@svc/contract';
import type { z } from 'zod';
import type { KeyRow } from './keys.sql.ts';

/** A row in the words of the API: what is unset is left out. */
export function toRecord(row: KeyRow): z.input<typeof key> {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    last_four: row.last_four,
    status: row.status,
    scopes: row.scopes,
    tool_level: row.tool_level,
    created_at: row.created_at,
    parent_id: row.parent_id,
    ...(row.connection_id !== null && { connection_id: row.connection_id }),
    ...(row.models && { models: row.models }),
    ...(row.spend_cap_micro_usd !== null && { spend_cap_micro_usd: row.spend_cap_micro_usd }),
    ...(row.expires_at !== null && { expires_at: row.expires_at }),
    ...(row.last_used_at !== null && { last_used_at: row.last_used_at }),
  };
}
