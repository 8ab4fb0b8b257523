import type { Db } from '../../../kernel/db/db.ts';
import type { Sealed } from '../../../kernel/base/crypto.ts';

/** Private parts of the keys that sign ID tokens. */
export const sealedSigningKeys: Sealed = {
  purpose: 'auth-signing-key',
  table: 'auth.signing_keys',
  column: 'private_key',
};

/** A signing key; it signs from `began_at` to `ended_at`. */
interface SigningKeyRow {
  id: string;
  private_key: Buffer;
  created_at: string;
  began_at: string | null;
  ended_at: string | null;
  /** It has signed for as long as a key should. */
  is_old: boolean;
}

/** Any constant: the number under which changes of the keys queue up. */
const keysLock = 7_822_031;

/** Keys, the one that signs first, then the next one, then those that ended. */
export async function listSigningKeys(db: Db): Promise<SigningKeyRow[]> {
  return db<SigningKeyRow[]>`
    select id, private_key, created_at, began_at, ended_at, began_at < now() - interval '90 days' as is_old
    from auth.signing_keys order by ended_at is not null, began_at is null, ended_at desc, created_at desc`;
}

/** Holds until the transaction ends: one process at a time changes the keys. */
export async function lockSigningKeys(db: Db): Promise<void> {
  await db`select pg_advisory_xact_lock(${keysLock})`;
}

/** Adds a key that signs now, or is only published until it does. */
export async function insertSigningKey(db: Db, id: string, sealed: Buffer, signs: boolean): Promise<void> {
  await db`
    insert into auth.signing_keys (id, private_key, began_at)
    values (${id}, ${sealed}, ${signs ? db`now()` : null})`;
}

/** The key that signs ends, and the next one begins. */
export async function turnSigningKeys(db: Db, next: string): Promise<void> {
  await db`
    update auth.signing_keys set
      ended_at = case when id = ${next} then null else coalesce(ended_at, now()) end,
      began_at = case when id = ${next} then now() else began_at end
    where id = ${next} or began_at is not null`;
}

/** Forgets keys whose last token has ended. */
export async function forgetSigningKeys(db: Db): Promise<void> {
  await db`delete from auth.signing_keys where ended_at < now() - interval '1 day'`;
}
