import { bySystem, type Who, writeAct } from '../../kernel/records/audit.ts';
import {
  type AccountData,
  addCounts,
  type Counts,
  deleteData,
  type Deleting,
  type Leaving,
} from '../../kernel/deletion.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { JobDefinition } from '../../kernel/feature.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import {
  beginDeletion,
  deleteAccountRow,
  endDeletion,
  forgetDeletions,
  isLeaving,
  lockEmail,
  noteDeletion,
  openDeletions,
  setSuspended,
} from './accounts.sql.ts';
import { lockOperators } from './accounts.people.sql.ts';

/** The result of a deletion. */
interface Deletion {
  deleted: Counts;
  /** Data that this process could not reach, and a running platform deletes by itself. */
  left: Counts;
}

/** Requests that were under way may write for this long, such as usage records. */
const settleMs = 1_000;
const mostPasses = 5;

/**
 * Marks an account as being deleted, which cannot be taken back: from then on its keys are refused everywhere, its streams
 * end, and nothing of it runs. A second time changes nothing. `first` is called in the transaction, and may refuse by throwing.
 */
export async function markDeleted(
  { sql, gateways }: Pick<Deleting, 'sql' | 'gateways'>,
  accountId: string,
  by: Who,
  first: (tx: Db) => Promise<void> = async () => {},
): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await lockOperators(tx);
    const email = await lockEmail(tx, accountId);
    if (email === undefined || (await isLeaving(tx, accountId))) return;
    await first(tx);
    await beginDeletion(tx, accountId, email);
    await setSuspended(tx, accountId, true);
    await writeAct(tx, { accountId, by, action: 'accounts.delete', subject: accountId, details: { state: 'begun' } });
  });
  await gateways.announce(credentialsChanged, { accountId } satisfies CredentialChange);
}

/** Deletes everything of a marked account, the account last. May be interrupted anywhere, and repeated. */
export async function deleteMarked(
  parts: Deleting,
  data: readonly AccountData[],
  leaving: Leaving,
  by: Who,
): Promise<Deletion> {
  const { sql, clock } = parts;
  const left: Counts = {};
  for (let pass = 0; pass < mostPasses; pass++) {
    const done = await deleteOnce(parts, data, leaving);
    // A later pass may not see the rest again, since its row is gone.
    for (const [kind, count] of Object.entries(done.left)) left[kind] = Math.max(left[kind] ?? 0, count);
    if (pass > 0 && done.isNothing) break;
    const { promise, resolve } = Promise.withResolvers<void>();
    clock.after(settleMs, resolve);
    await promise;
  }
  const { accountId } = leaving;
  const deleted = await inTransaction(sql, async (tx) => {
    if ((await deleteAccountRow(tx, accountId)) === 0) return noteDeletion(tx, accountId, {});
    const counts = await endDeletion(tx, accountId, { 'accounts.accounts': 1 });
    const details = { state: 'done', deleted: counts };
    await writeAct(tx, { accountId, by, action: 'accounts.delete', subject: accountId, details });
    return counts;
  });
  // Its keys are unknown now; who used one meanwhile is remembered as suspended.
  await parts.gateways.announce(credentialsChanged, { accountId } satisfies CredentialChange);
  return { deleted, left };
}

async function deleteOnce(parts: Deleting, data: readonly AccountData[], leaving: Leaving) {
  const left: Counts = {};
  let isNothing = true;
  for (const each of data) {
    const done = await deleteData(parts, each, leaving);
    const isSome = Object.values(done.deleted).some((count) => count > 0);
    if (isSome) isNothing = false;
    addCounts(left, done.left);
    // Also says that somebody is at it.
    await noteDeletion(parts.sql, leaving.accountId, done.deleted);
  }
  return { left, isNothing };
}

/**
 * For how long a restore must know who was deleted: as long as the platform keeps backups, and copies of them for a
 * year and a month.
 */
export const rememberedSeconds = (backupSeconds: number): number => Math.max(backupSeconds, 400 * 86_400);

/** Every five minutes: goes on with deletions that nobody works on, and looks again, for a day, at those that are done. */
export const deleteOn = (data: readonly AccountData[]): JobDefinition => ({
  name: 'accounts.deleteOn',
  cron: '*/5 * * * *',
  retries: 0,
  timeoutSeconds: 3_600,
  async run(kernel) {
    for (const { account_id: accountId, email, is_done: isDone } of await openDeletions(kernel.sql, kernel.clock)) {
      const leaving = { accountId, email: email ?? undefined };
      if (isDone) await deleteOnce(kernel, data, leaving);
      else await deleteMarked(kernel, data, leaving, bySystem);
    }
    const { everySeconds, keep } = kernel.config.backup;
    await forgetDeletions(kernel.sql, kernel.clock, rememberedSeconds(everySeconds * keep));
  },
});
