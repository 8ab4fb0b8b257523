import type { Db } from './db/db.ts';
import type { Kernel } from './kernel.ts';
import { kernelRestored } from './restored.ts';

/** The parts of the kernel that a deletion uses: a command has no more. */
export type Deleting = Pick<Kernel, 'sql' | 'blobs' | 'bus' | 'clock' | 'log' | 'config' | 'gateways'>;

/** An account that is deleted. */
export interface Leaving {
  accountId: string;
  /** Undefined once its row is gone. */
  email: string | undefined;
}

/** How much of each kind was deleted, or could not be reached from here. */
export type Counts = Record<string, number>;

/** The data that a feature keeps of an account, and how it is deleted. Every step may be repeated. */
export interface AccountData {
  /** Its tables with a column `account_id`, in the order in which they are emptied; other rows go with these by a key. */
  readonly tables: readonly string[];
  /** Ends and deletes what is no row: processes, files. Before the rows. */
  readonly end?: (parts: Deleting, leaving: Leaving) => Promise<{ deleted: Counts; left?: Counts }>;
  /** Tables that keep their rows of the account, and why. */
  readonly keeps?: Readonly<Record<string, string>>;
}

const atOnce = 5_000;

/** Deletes what one feature keeps of an account; answers how much, and what is left to a running platform. */
export async function deleteData(
  parts: Deleting,
  data: AccountData,
  leaving: Leaving,
): Promise<{ deleted: Counts; left: Counts }> {
  const ended = (await data.end?.(parts, leaving)) ?? { deleted: {} };
  const deleted = { ...ended.deleted };
  for (const table of data.tables)
    addCounts(deleted, { [table]: await deleteRows(parts.sql, table, leaving.accountId) });
  return { deleted, left: ended.left ?? {} };
}

/** Deletes an account's rows of a table, some thousands at a time: a statement must not hold what others wait for. */
async function deleteRows(db: Db, table: string, accountId: string): Promise<number> {
  for (let all = 0; ; ) {
    const { count } = await db`
      delete from ${db(table)} where ctid = any (array(
        select ctid from ${db(table)} where account_id = ${accountId} limit ${atOnce}))
        -- Parts of one table have rows of the same ctid.
        and account_id = ${accountId}`;
    all += count;
    if (count === 0) return all;
  }
}

/** Adds to the counts, zeros aside. */
export function addCounts(counts: Counts, more: Readonly<Counts>): void {
  for (const [kind, count] of Object.entries(more)) if (count > 0) counts[kind] = (counts[kind] ?? 0) + count;
}

/** The kernel's own data of an account. */
const data: AccountData = {
  tables: [
    'kernel.usage_records',
    'kernel.usage_counts',
    'kernel.key_spend',
    'kernel.idempotency',
    'kernel.idempotency_use',
    'kernel.quotas',
    'kernel.changes',
    'kernel.change_floors',
    'kernel.device_streams',
    'kernel.let_in',
    'kernel.app_changes',
  ],
  keeps: {
    'kernel.audit':
      'the two lines `accounts.delete`, which tell of the deletion, and its id in logs of accounts that it acted in',
    'kernel.rate_windows': 'counts of the last five minutes',
    'kernel.budgets': 'counts of the last two days',
  },
  async end({ sql }, { accountId }) {
    let lines = 0;
    for (;;) {
      const [row] = await sql<{ gone: number }[]>`select kernel.forget_audit(${accountId}, ${atOnce}) as gone`;
      lines += row?.gone ?? 0;
      if ((row?.gone ?? 0) < atOnce) return { deleted: { 'kernel.audit': lines } };
    }
  },
};

/** The kernel among the features. */
export const kernelManifest = { name: 'kernel', data, restored: kernelRestored };
