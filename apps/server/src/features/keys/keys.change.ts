import { type Who, writeAct } from '../../kernel/records/audit.ts';
import { type CredentialChange, credentialsChanged } from '../../kernel/mount/access.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction, onCommit } from '../../kernel/db/db.ts';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { lockQuota } from '../../kernel/records/quotas.ts';
import {
  countLive,
  giveKey,
  type KeyChange,
  type KeyRow,
  keysQuota,
  lockDescendants,
  lockKey,
  updateKey,
} from './keys.sql.ts';

/** Whose key is changed, and by whom. */
interface Change {
  accountId: string;
  by: Who;
  /** May refuse by throwing, given the key as it is. */
  check?: (current: KeyRow) => void;
}

/** The result of a revocation. */
interface Revoked {
  row: KeyRow;
  /** Keys below it that were revoked with it. */
  children: number;
  /** Keys below it that are not revoked and have not expired. */
  left: number;
}

/**
 * Changes a key and answers once every live gateway has forgotten what it knew: what the change takes away is refused on
 * the next request, everywhere. A revoked key stays revoked.
 */
export async function changeKey(
  kernel: Pick<Kernel, 'sql' | 'gateways'>,
  id: string,
  change: KeyChange,
  { accountId, by, check = () => {} }: Change,
): Promise<KeyRow> {
  const row = await inTransaction(kernel.sql, async (tx) => {
    const current = await lockKey(tx, accountId, id);
    if (!current) throw notFound('key');
    check(current);
    if (current.status === 'revoked') {
      throw new ApiError('key_revoked', 'a revoked key cannot be changed; create a new one');
    }
    await updateKey(tx, id, change);
    await writeAct(tx, { accountId, by, action: 'keys.update', subject: id, details: change });
    return { ...current, ...change };
  });
  const { name: _, ...rights } = change;
  // A name is remembered nowhere.
  if (Object.keys(rights).length > 0) await forget(kernel, accountId, [id]);
  return row;
}

/**
 * Revokes a key, and with `children` every key that descends from it: all or, when `check` refuses one, none. Answers once
 * they are refused everywhere; revoking what is revoked changes nothing.
 */
export async function revokeKey(
  kernel: Pick<Kernel, 'sql' | 'gateways'>,
  id: string,
  children: boolean,
  { accountId, by, check = () => {} }: Change,
): Promise<Revoked> {
  const { revoked, ...answer } = await inTransaction(kernel.sql, async (tx) => {
    // Creations take it too: no child is made while its ancestors are looked for.
    await lockQuota(tx, keysQuota, accountId);
    const row = await lockKey(tx, accountId, id);
    if (!row) throw notFound('key');
    check(row);
    const below = await lockDescendants(tx, accountId, id);
    if (children) for (const each of below) checkChild(check, each);
    const wanted = [row, ...(children ? below : [])].filter(({ status }) => status !== 'revoked');
    for (const key of wanted) await revokeIn(tx, key, by, key === row ? undefined : id);
    const left = children ? [] : below.map((key) => key.id);
    return {
      revoked: wanted.map((key) => key.id),
      row: { ...row, status: 'revoked' as const },
      children: wanted.filter((key) => key !== row).length,
      left: await countLive(tx, left),
    };
  });
  if (revoked.length > 0) await forget(kernel, accountId, revoked);
  return answer;
}

/** Revokes a key that has none below it, in a transaction: it is refused everywhere once that is committed. */
export async function revokeWithin(
  tx: Db,
  kernel: Pick<Kernel, 'gateways'>,
  id: string,
  { accountId, by }: Pick<Change, 'accountId' | 'by'>,
): Promise<void> {
  const row = await lockKey(tx, accountId, id);
  if (!row || row.status === 'revoked') return;
  await revokeIn(tx, row, by);
  await onCommit(tx, () => forget(kernel, accountId, [id]));
}

/**
 * Gives a key that has none below it to another account, in a transaction: its text stays, what it reaches is that
 * account's.
 */
export async function moveKey(
  tx: Db,
  kernel: Pick<Kernel, 'gateways'>,
  id: string,
  { from, to, by }: { from: string; to: string; by: Who },
): Promise<void> {
  const row = await lockKey(tx, from, id);
  if (!row) return;
  await giveKey(tx, id, to);
  const act = { by, action: 'keys.move', subject: id, details: { name: row.name } };
  for (const accountId of [from, to]) await writeAct(tx, { accountId, ...act });
  // A gateway believes that it is of the account before.
  await onCommit(tx, () => forget(kernel, from, [id]));
}

async function revokeIn(tx: Db, { id, account_id: accountId }: KeyRow, by: Who, ancestor?: string): Promise<void> {
  await updateKey(tx, id, { status: 'revoked' });
  const details = ancestor === undefined ? {} : { with: ancestor };
  await writeAct(tx, { accountId, by, action: 'keys.revoke', subject: id, details });
}

function checkChild(check: (current: KeyRow) => void, child: KeyRow): void {
  try {
    check(child);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = `a key below it may do more than the one that would revoke it: "${child.name}"; use a key that may do as much`;
    throw new ApiError('forbidden', message, { details: { key_id: child.id } });
  }
}

/** More than this many are forgotten as all keys of the account, whose clients come back. */
const mostApart = 20;

async function forget({ gateways }: Pick<Kernel, 'gateways'>, accountId: string, ids: string[]): Promise<void> {
  const whose: CredentialChange[] =
    ids.length > mostApart ? [{ accountId }] : ids.map((credentialId) => ({ accountId, credentialId }));
  await Promise.all(whose.map((each) => gateways.announce(credentialsChanged, each)));
}
