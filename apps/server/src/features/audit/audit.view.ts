import type { act } from '@svc/contract';
import type { z } from 'zod';
import type { Db } from '../../kernel/db/db.ts';
import { emailsOf } from '../accounts/index.ts';
import { type KeyName, namesOfKeys } from '../keys/index.ts';
import type { ActRow } from './audit.sql.ts';

/** What the ids of lines stand for. */
interface Names {
  readonly keys: ReadonlyMap<string, KeyName>;
  /** Addresses of accounts. */
  readonly emails: ReadonlyMap<string, string>;
}

/** The names of the keys and accounts of these rows, as they are now; those of what is gone are missing. */
export async function namesOf(db: Db, rows: readonly ActRow[]): Promise<Names> {
  const keys = await namesOfKeys(
    db,
    rows.flatMap(({ key_id }) => key_id ?? []),
  );
  const emails = await emailsOf(
    db,
    rows.flatMap(({ by_account_id }) => by_account_id ?? []),
  );
  return { keys, emails };
}

/** A row in the words of the API: what is unset is left out. */
export function toRecord(row: ActRow, { keys, emails }: Names): z.input<typeof act> {
  const known = row.key_id === null ? undefined : keys.get(row.key_id);
  return {
    id: String(row.id),
    at: row.at,
    who: row.who,
    ...(row.key_id !== null && { key: { id: row.key_id, ...known } }),
    ...(row.login_id !== null && { login_id: row.login_id }),
    ...(row.by_account_id !== null && { account: accountOf(row.by_account_id, emails) }),
    ...(row.address !== null && { address: row.address }),
    action: row.action,
    ...(row.subject !== null && { subject: row.subject }),
    details: row.details,
    ...(row.trace_id !== null && { trace_id: row.trace_id }),
  };
}

function accountOf(id: string, emails: Names['emails']): { id: string; email?: string } {
  const email = emails.get(id);
  return { id, ...(email !== undefined && { email }) };
}
