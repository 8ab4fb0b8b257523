import type { Db } from '../../../kernel/db/db.ts';

/** A token that enrols a machine. */
export interface TokenRow {
  environment_id: string;
  /** The key that made it; null: the platform, for a machine that it makes. */
  key_id: string | null;
  created_by: string;
  /** RFC 3339. */
  expires_at: string;
  used_by: string | null;
}

/** Keeps the hash of a token, in place of the one before; the same token again stays taken, if it was. */
export async function putToken(
  db: Db,
  one: { environmentId: string; hash: Buffer; keyId: string | null; createdBy: string; expiresAt: string },
): Promise<void> {
  await db`
    insert into environments.tokens (environment_id, hash, key_id, created_by, expires_at)
    values (${one.environmentId}, ${one.hash}, ${one.keyId}, ${one.createdBy}, ${one.expiresAt})
    on conflict (environment_id) do update set
      hash = excluded.hash, key_id = excluded.key_id, created_by = excluded.created_by, expires_at = excluded.expires_at,
      used_by = case when environments.tokens.hash = excluded.hash then environments.tokens.used_by end`;
}

/** The environment that a token is of; undefined when there is none with this hash. */
export async function environmentOfToken(db: Db, hash: Buffer): Promise<string | undefined> {
  const [row] = await db<{ environment_id: string }[]>`
    select environment_id from environments.tokens where hash = ${hash}`;
  return row?.environment_id;
}

/** The token with this hash, locked until the transaction ends. */
export async function lockToken(db: Db, hash: Buffer): Promise<TokenRow | undefined> {
  const [row] = await db<TokenRow[]>`
    select environment_id, key_id, created_by, expires_at, used_by from environments.tokens where hash = ${hash} for update`;
  return row;
}

/** Says which device took the token. */
export async function takeToken(db: Db, environmentId: string, deviceId: string): Promise<void> {
  await db`update environments.tokens set used_by = ${deviceId} where environment_id = ${environmentId}`;
}

/** Deletes the token that the platform made for an environment's machine. */
export async function deleteOwnToken(db: Db, environmentId: string): Promise<void> {
  await db`delete from environments.tokens where environment_id = ${environmentId} and key_id is null`;
}

/** Deletes the token of an environment. */
export async function deleteToken(db: Db, environmentId: string): Promise<void> {
  await db`delete from environments.tokens where environment_id = ${environmentId}`;
}
