import type { Db } from '../../kernel/db/db.ts';

/** A line as it is stored. */
export interface ActRow {
  id: number;
  at: string;
  account_id: string | null;
  who: 'key' | 'login' | 'cli' | 'system';
  key_id: string | null;
  login_id: string | null;
  address: string | null;
  action: string;
  subject: string | null;
  details: Record<string, unknown>;
  trace_id: string | null;
  by_account_id: string | null;
}

/** Which lines are asked for; what is undefined is not asked. */
interface Wanted {
  accountId?: string | undefined;
  /** An action, or a feature. */
  action?: string | undefined;
  subject?: string | undefined;
  /** RFC 3339. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only lines older than the one with this id. */
  before?: string | undefined;
  limit: number;
}

/** Lines of the audit log, newest first. */
export async function listActs(db: Db, wanted: Wanted): Promise<ActRow[]> {
  const { accountId, action, subject, since, until, before, limit } = wanted;
  return db<ActRow[]>`
    select id, at, account_id, who, key_id, login_id, address, action, subject, details, trace_id, by_account_id
    from kernel.audit_view
    where true
      ${accountId === undefined ? db`` : db`and account_id = ${accountId}`}
      ${action === undefined ? db`` : db`and (action = ${action} or starts_with(action, ${`${action}.`}))`}
      ${subject === undefined ? db`` : db`and subject = ${subject}`}
      ${since === undefined ? db`` : db`and at >= ${since}`}
      ${until === undefined ? db`` : db`and at < ${until}`}
      ${before === undefined ? db`` : db`and id < ${before}::bigint`}
    order by id desc limit ${limit}`;
}
