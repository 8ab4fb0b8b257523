import type { Db } from '../../kernel/db/db.ts';

/** The row that stands for the person of an account, in work that they ask for to be done later. Made when it is first needed. */
export async function personOf(db: Db, accountId: string, hash: Buffer): Promise<string> {
  const [row] = await db<{ id: string }[]>`
    insert into keys.keys (account_id, kind, name, hash, prefix, last_four, scopes)
    values (${accountId}, 'person', 'Signed in', ${hash}, '', '', '{}')
    on conflict (account_id) where kind = 'person' do update set kind = 'person'
    returning id`;
  return (row as { id: string }).id;
}

/** The row that stands for an app's connection; answers its id. */
export async function insertConnectionKey(
  db: Db,
  row: { accountId: string; connectionId: string; name: string; hash: Buffer; scopes: readonly string[] },
): Promise<string> {
  const [inserted] = await db<{ id: string }[]>`
    insert into keys.keys (account_id, kind, name, hash, prefix, last_four, scopes, connection_id)
    values (${row.accountId}, 'connection', ${row.name}, ${row.hash}, '', '', ${[...row.scopes]}, ${row.connectionId})
    returning id`;
  return (inserted as { id: string }).id;
}

/** Changes what a connection may do. */
export async function setConnectionScopes(db: Db, keyId: string, scopes: readonly string[]): Promise<void> {
  await db`update keys.keys set scopes = ${[...scopes]} where id = ${keyId} and kind = 'connection'`;
}

/** Revokes the row of a connection; its keys go by `revokeWithin`. */
export async function endConnectionKey(db: Db, keyId: string): Promise<void> {
  await db`update keys.keys set status = 'revoked' where id = ${keyId} and kind = 'connection'`;
}

/** The connection that a key was given to; null: none. */
export async function connectionOf(db: Db, id: string): Promise<string | null> {
  const [row] = await db<{ connection_id: string | null }[]>`select connection_id from keys.keys where id = ${id}`;
  return row?.connection_id ?? null;
}

/** Whether the grant of a token is still there. */
export async function isGranted(db: Db, grantId: string): Promise<boolean> {
  return (await db`select 1 from auth.granted_view where grant_id = ${grantId} limit 1`).length > 0;
}

/** Keys that an app was given for tokens of one grant, with those that they made, and that are not revoked. */
export async function keysOfGrant(db: Db, accountId: string, grantId: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    with recursive given as (
      select id from keys.keys where account_id = ${accountId} and grant_id = ${grantId} and kind = 'key'
      union
      select k.id from keys.keys k join given g on k.parent_id = g.id where k.account_id = ${accountId})
    select id from keys.keys where id in (select id from given) and status <> 'revoked'`;
  return rows.map(({ id }) => id);
}

/** Keys that connections were given and that can be used, or could be again. */
export async function keysOfConnections(db: Db, connectionIds: readonly string[]) {
  return db<{ id: string; connection_id: string }[]>`
    select id, connection_id from keys.keys
    where connection_id = any(${[...connectionIds]}::uuid[]) and kind = 'key' and status <> 'revoked'
      and (expires_at is null or expires_at > now())
    order by created_at desc, id`;
}

/** What an app may do by its connection, or by a key that it has from it. */
export async function scopesOfConnection(db: Db, connectionId: string): Promise<string[]> {
  const rows = await db<{ scope: string }[]>`
    select distinct unnest(scopes) as scope from keys.keys where connection_id = ${connectionId} and status <> 'revoked'`;
  return rows.map(({ scope }) => scope);
}

/** The keys of an app on one device end soon; answers the newest of them. */
export async function endFormerKeys(db: Db, connectionId: string, device: string, except: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    update keys.keys set expires_at = least(expires_at, now() + interval '10 minutes')
    where connection_id = ${connectionId} and connected_device = ${device} and kind = 'key' and status = 'active'
      and id <> ${except}
    returning id`;
  return rows.map(({ id }) => id);
}

/** Notes which key a new one stands in for. */
export async function noteReplaced(db: Db, id: string, replaces: string | null): Promise<void> {
  await db`update keys.keys set replaces = ${replaces} where id = ${id}`;
}
