import { ownScopes, type ToolLevel } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';

/** A row as it is listed. */
export interface KeyRow {
  id: string;
  account_id: string;
  name: string;
  prefix: string;
  last_four: string;
  status: 'active' | 'paused' | 'revoked';
  scopes: string[];
  tool_level: ToolLevel;
  models: string[] | null;
  spend_cap_micro_usd: number | null;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string;
  parent_id: string | null;
  connection_id: string | null;
}

/** The rights of an active key, with its account's standing. */
export interface KeyGrant {
  id: string;
  account_id: string;
  /** `person`: stands for the person of the account, who is signed in. `connection`: for an app. */
  kind: 'key' | 'person' | 'connection';
  scopes: string[];
  tool_level: ToolLevel;
  models: string[] | null;
  subscription: 'active' | 'inactive';
  suspended: boolean;
  features: Record<string, boolean>;
  spend_cap_micro_usd: number | null;
  spent: boolean;
  expires_at: string | null;
  expires_in_ms: number | null;
  /** The key that it stands in for. */
  replaces: string | null;
  /** The app that it is of. */
  connection_id: string | null;
  /** Which is this product's own command line. */
  is_own_app: boolean;
}

const columns = (db: Db) => db`
  k.id, k.account_id, k.name, k.prefix, k.last_four, k.status, k.scopes || k.own_scopes as scopes,
  coalesce(k.tool_level, a.tool_level) as tool_level, k.models, k.spend_cap_micro_usd, k.expires_at, k.last_used_at,
  k.created_at, k.parent_id, k.connection_id`;

/** The grant of an active, unexpired key, by the hash of its text or by its id. The auth path: one index look-up each in keys and accounts. */
export async function findGrant(db: Db, key: Buffer | string): Promise<KeyGrant | undefined> {
  const [row] = await db<KeyGrant[]>`
    select k.id, k.account_id, k.kind, k.scopes || k.own_scopes as scopes, coalesce(k.tool_level, a.tool_level) as tool_level,
      k.replaces, k.connection_id, exists (select from connections.own_view o where o.id = k.connection_id) as is_own_app, k.models, a.subscription, a.suspended, a.features, k.spend_cap_micro_usd, k.expires_at,
      -- What a key with a cap made has one too.
      k.spend_cap_micro_usd is not null and keys.is_spent(k.account_id, k.id) as spent,
      1000 * extract(epoch from (k.expires_at - now()))::float8 as expires_in_ms
    from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where ${typeof key === 'string' ? db`k.id = ${key}` : db`k.hash = ${key}`} and k.status = 'active' and (k.expires_at is null or k.expires_at > now())`;
  return row;
}

/** Those of the keys that may not be used now: paused, revoked, expired, or of an inactive account. */
export async function findLapsed(db: Db, ids: string[]): Promise<{ id: string; account_id: string }[]> {
  return db<{ id: string; account_id: string }[]>`
    select k.id, k.account_id from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where k.id = any(${ids}::uuid[])
      and (k.status <> 'active' or k.expires_at <= now() or not a.may_run)`;
}

/** Keys of an account, newest first. */
export async function listKeys(db: Db, accountId: string, page: PageQuery): Promise<(KeyRow & PagedRow)[]> {
  return db<(KeyRow & PagedRow)[]>`
    select ${columns(db)}, k.created_at::text as page_at
    from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where k.account_id = ${accountId} and k.kind = 'key' ${pageEnd(db, page, { at: db`k.created_at`, id: db`k.id` })}`;
}

/** One key of an account. */
export async function findKey(db: Db, accountId: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await db<KeyRow[]>`
    select ${columns(db)} from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where k.account_id = ${accountId} and k.id = ${id} and k.kind = 'key'`;
  return row;
}

/** One key of an account, locked for the transaction. */
export async function lockKey(db: Db, accountId: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await db<KeyRow[]>`
    select ${columns(db)} from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where k.account_id = ${accountId} and k.id = ${id} and k.kind = 'key' for update of k`;
  return row;
}

/** Keys that descend from this one and are not revoked, locked for the transaction. */
export async function lockDescendants(db: Db, accountId: string, id: string): Promise<KeyRow[]> {
  return db<KeyRow[]>`
    with recursive below as (
      select id from keys.keys where parent_id = ${id} and account_id = ${accountId}
      union
      select k.id from keys.keys k join below b on k.parent_id = b.id where k.account_id = ${accountId})
    select ${columns(db)} from keys.keys k join accounts.standing_view a on a.id = k.account_id
    where k.id in (select id from below) and k.status <> 'revoked' order by k.id for update of k`;
}

/** Whether the key can be used now. */
export async function isUsable(db: Db, id: string): Promise<boolean> {
  return (await db`select 1 from keys.usable_view where id = ${id}`).length > 0;
}

/**
 * The rights of a key that can be used now, and its limits, which hold for every key that it makes too; undefined: unusable.
 * `isPerson`: it stands for a signed-in person, who may give every right that there is.
 */
export async function findTerms(
  db: Db,
  id: string,
): Promise<
  (Pick<NewKey, 'models' | 'spendCapMicroUsd' | 'expiresAt'> & { scopes: string[]; isPerson: boolean }) | undefined
> {
  const [row] = await db<
    (Pick<KeyGrant, 'kind'> & Pick<KeyRow, 'models' | 'spend_cap_micro_usd' | 'expires_at' | 'scopes'>)[]
  >`
    select k.kind, k.scopes || k.own_scopes as scopes, k.models, k.spend_cap_micro_usd, k.expires_at
    from keys.keys k join keys.usable_view u on u.id = k.id join accounts.standing_view a on a.id = k.account_id
    where k.id = ${id} and not a.suspended and not a.deleting`;
  return (
    row && {
      scopes: row.kind === 'person' ? ['*'] : row.scopes,
      models: row.models,
      spendCapMicroUsd: row.spend_cap_micro_usd,
      expiresAt: row.expires_at,
      isPerson: row.kind === 'person',
    }
  );
}

/** How many of the keys can be used, or could be again. */
export async function countLive(db: Db, ids: readonly string[]): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from keys.live_view where id = any(${[...ids]}::uuid[])`;
  return row?.n ?? 0;
}

/** Whether the account has a key that may do everything, and no other account that may go on has one. */
export async function isLastOwner(db: Db, accountId: string): Promise<boolean> {
  const [row] = await db<{ own: boolean; other: boolean }[]>`
    select coalesce(bool_or(k.account_id = ${accountId}), false) as own,
      coalesce(bool_or(k.account_id <> ${accountId} and a.may_run), false) as other
    from keys.keys k join accounts.standing_view a on a.id = k.account_id join keys.live_view l on l.id = k.id
    where '*' = any(k.scopes)`;
  return row !== undefined && row.own && !row.other;
}

/** The fields that people recognise a key by. */
export type KeyName = Pick<KeyRow, 'name' | 'prefix'>;

/** Names of keys by id. */
export async function namesOfKeys(db: Db, ids: readonly string[]): Promise<Map<string, KeyName>> {
  const unique = [...new Set(ids)];
  if (unique.length === 0) return new Map();
  const rows = await db<(KeyName & { id: string })[]>`
    select id, name, prefix from keys.keys where id = any(${unique}::uuid[])`;
  return new Map(rows.map(({ id, ...rest }) => [id, rest]));
}

/** The keys with this id, hash or prefix, three at most, those that were not revoked first; for commands, which act for any account. */
export async function findKeyOwners(db: Db, by: { id: string } | { hash: Buffer } | { prefix: string }) {
  const which = 'id' in by ? db`k.id = ${by.id}` : 'hash' in by ? db`k.hash = ${by.hash}` : db`k.prefix = ${by.prefix}`;
  return db<{ id: string; account_id: string; name: string; status: KeyRow['status'] }[]>`
    select k.id, k.account_id, k.name, k.status from keys.keys k where ${which}
    order by k.status = 'revoked', k.id limit 3`;
}

/** Fields of a new key. */
interface NewKey {
  accountId: string;
  name: string;
  hash: Buffer;
  prefix: string;
  lastFour: string;
  scopes: readonly string[];
  toolLevel: ToolLevel | null;
  models: readonly string[] | null;
  spendCapMicroUsd: number | null;
  expiresAt: string | null;
  parentId: string | null;
  connection: { id: string; device: string | null; grantId?: string | undefined } | null;
}

/** Scopes as they are stored: in two columns, so that a gateway of an earlier version meets those only that it knows. */
function columnsOf(scopes: readonly string[]): { scopes: string[]; own_scopes: string[] } {
  const isOwn = (scope: string): boolean => (ownScopes as readonly string[]).includes(scope);
  return { scopes: scopes.filter((scope) => !isOwn(scope)), own_scopes: scopes.filter(isOwn) };
}

/** Inserts a key and answers its id. */
export async function insertKey(db: Db, key: NewKey): Promise<string> {
  const { scopes, own_scopes: ownScopes } = columnsOf(key.scopes);
  const [row] = await db<{ id: string }[]>`
    insert into keys.keys
      (account_id, name, hash, prefix, last_four, scopes, own_scopes, tool_level, models, spend_cap_micro_usd, expires_at,
       parent_id, connection_id, connected_device, grant_id)
    values (${key.accountId}, ${key.name}, ${key.hash}, ${key.prefix}, ${key.lastFour}, ${scopes}, ${ownScopes},
      ${key.toolLevel}, ${key.models && [...key.models]}, ${key.spendCapMicroUsd}, ${key.expiresAt}, ${key.parentId},
      ${key.connection?.id ?? null}, ${key.connection?.device ?? null},
      ${key.connection?.grantId ?? null})
    returning id`;
  return (row as { id: string }).id;
}

/** Limit of the keys of an account; revoked ones do not count. */
export const keysQuota: Quota = {
  name: 'keys',
  remedy: 'revoke one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from keys.keys where account_id = ${accountId} and status <> 'revoked' and kind = 'key'`;
    return row?.n ?? 0;
  },
};

/** Fields that may change. */
export type KeyChange = Partial<
  Pick<KeyRow, 'name' | 'status' | 'scopes' | 'tool_level' | 'models' | 'spend_cap_micro_usd' | 'expires_at'>
>;

/** Changes the given fields. */
export async function updateKey(db: Db, id: string, change: KeyChange): Promise<void> {
  const stored = { ...change, ...(change.scopes && columnsOf(change.scopes)) };
  await db`update keys.keys set ${db(stored as Record<string, string>)} where id = ${id}`;
}

/** Gives a key to another account. */
export async function giveKey(db: Db, id: string, accountId: string): Promise<void> {
  await db`update keys.keys set account_id = ${accountId} where id = ${id}`;
}

/** Ids of keys that were revoked, `most` of them. */
export async function listRevoked(db: Db, most: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from keys.keys where status = 'revoked' order by id limit ${most}`;
  return rows.map(({ id }) => id);
}

/** Revokes those of these keys that are not; answers which. */
export async function revokeListed(db: Db, ids: readonly string[]): Promise<(KeyName & { id: string })[]> {
  return db`
    update keys.keys set status = 'revoked' where id = any(${[...ids]}::uuid[]) and status <> 'revoked'
    returning id, name, prefix`;
}

/** Notes that the key was used; at most once per cache fill. */
export async function touchKey(db: Db, id: string): Promise<void> {
  await db`update keys.keys set last_used_at = now() where id = ${id}`;
}

/** Any constant: the number under which first starts queue up. */
const firstStartLock = 7_822_002;

/** Holds until the transaction ends: one gateway at a time looks whether it is the first. */
export async function lockFirstStart(db: Db): Promise<void> {
  await db`select pg_advisory_xact_lock(${firstStartLock})`;
}
