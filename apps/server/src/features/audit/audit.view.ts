import type { act } from '@svc/contract';
import type { z } from 'zod';
import type { KeyName } from '../keys/index.ts';
import type { ActRow } from './audit.sql.ts';

/** A row in the words of the API: what is unset is left out. */
export function toRecord(row: ActRow, names: ReadonlyMap<string, KeyName>): z.input<typeof act> {
  const known = row.key_id === null ? undefined : names.get(row.key_id);
  return {
    id: String(row.id),
    at: row.at,
    who: row.who,
    ...(row.key_id !== null && { key: { id: row.key_id, ...known } }),
    ...(row.login_id !== null && { login_id: row.login_id }),
    ...(row.address !== null && { address: row.address }),
    action: row.action,
    ...(row.subject !== null && { subject: row.subject }),
    details: row.details,
    ...(row.trace_id !== null && { trace_id: row.trace_id }),
  };
}
