import type { clientTrusts } from '@svc/contract';
import { mostCounted } from '../../kernel/db/counted.ts';
import type { Db } from '../../kernel/db/db.ts';
import { pageEnd, type PagedRow, type PageQuery } from '../../kernel/db/paging.ts';
import type { Quota } from '../../kernel/records/quotas.ts';

/** How much is known of an app. */
type ClientTrust = (typeof clientTrusts)[number];

/** An app that an account let in. */
export interface ConnectionRow {
  id: string;
  account_id: string;
  client_id: string;
  name: string;
  trust: ClientTrust;
  host: string | null;
  scopes: string[];
  resources: string[];
  /** The row of `keys.keys` that stands for it. */
  key_id: string;
  created_at: string;
  last_used_at: string | null;
}

/** The same as a person sees it. */
export interface ShownConnection extends ConnectionRow {
  /** When the app is signed out unless it is used; null: it is not signed in, or stays so without a refresh. */
  ends_at: string | null;
}

const columns = (db: Db) => db`
  id, account_id, client_id, name, trust, host, scopes, resources, key_id, created_at, last_used_at`;

const shown = (db: Db) => db`
  ${columns(db)}, (select g.ends_at from auth.grants_view g
    where g.account_id = connections.account_id and g.client_id = connections.client_id) as ends_at`;

/** Limit of the apps that an account lets in. */
export const connectionsQuota: Quota = {
  name: 'connections',
  remedy: 'disconnect one that is not needed any more',
  async count(db, accountId) {
    const [row] = await db<{ n: number }[]>`
      select count(*)::int as n from connections.connections where account_id = ${accountId} and ended_at is null`;
    return row?.n ?? 0;
  },
};

/** Connections of an account, newest first. */
export async function listConnections(
  db: Db,
  accountId: string,
  page: PageQuery,
): Promise<(ShownConnection & PagedRow)[]> {
  return db<(ShownConnection & PagedRow)[]>`
    select ${shown(db)}, created_at::text as page_at from connections.connections
    where account_id = ${accountId} and ended_at is null ${pageEnd(db, page, { at: db`created_at`, id: db`id` })}`;
}

/** One connection of an account. */
export async function findConnection(db: Db, accountId: string, id: string): Promise<ShownConnection | undefined> {
  const [row] = await db<ShownConnection[]>`
    select ${shown(db)} from connections.connections
    where account_id = ${accountId} and id = ${id} and ended_at is null`;
  return row;
}

/** The same by its app. */
export async function findConnectionOf(
  db: Db,
  accountId: string,
  clientId: string,
): Promise<ConnectionRow | undefined> {
  const [row] = await db<ConnectionRow[]>`
    select ${columns(db)} from connections.connections
    where account_id = ${accountId} and client_id = ${clientId} and ended_at is null`;
  return row;
}

/** All that people have with an app. */
export async function connectionsOf(db: Db, clientId: string): Promise<ConnectionRow[]> {
  return db<ConnectionRow[]>`
    select ${columns(db)} from connections.connections where client_id = ${clientId} and ended_at is null order by id`;
}

/** The connection that a key stands for, or was given to. */
export async function findConnectionByKey(db: Db, keyId: string): Promise<ConnectionRow | undefined> {
  const [row] = await db<ConnectionRow[]>`
    select ${columns(db)} from connections.connections where key_id = ${keyId} and ended_at is null`;
  return row;
}

/** Locks the connections of an account with an app, so that two consents at once make one. */
export async function lockApp(db: Db, accountId: string, clientId: string): Promise<void> {
  await db`select pg_advisory_xact_lock(hashtextextended(${`connection ${accountId} ${clientId}`}, 0))`;
}

/** Adds a connection. */
export async function insertConnection(db: Db, row: Omit<ConnectionRow, 'created_at' | 'last_used_at'>): Promise<void> {
  await db`
    insert into connections.connections (id, account_id, client_id, name, trust, host, scopes, resources, key_id)
    values (${row.id}, ${row.account_id}, ${row.client_id}, ${row.name}, ${row.trust}, ${row.host}, ${row.scopes},
      ${row.resources}, ${row.key_id})`;
}

/** Changes what a connection may do, and how its app calls itself now. */
export async function updateConnection(
  db: Db,
  id: string,
  change: Pick<ConnectionRow, 'name' | 'scopes' | 'resources' | 'host'>,
): Promise<void> {
  await db`
    update connections.connections set name = ${change.name}, scopes = ${change.scopes},
      resources = ${change.resources}, host = ${change.host}
    where id = ${id}`;
}

/** Ends a connection; false when it had ended. */
export async function endConnection(db: Db, id: string): Promise<boolean> {
  const { count } = await db`
    update connections.connections set ended_at = now() where id = ${id} and ended_at is null`;
  return count > 0;
}

/** Connections that ended, and are not forgotten. */
export async function endedConnections(db: Db): Promise<Pick<ConnectionRow, 'id' | 'account_id' | 'trust'>[]> {
  return db<Pick<ConnectionRow, 'id' | 'account_id' | 'trust'>[]>`
    select id, account_id, trust from connections.connections where ended_at is not null order by id`;
}

/** Notes that a token of it was used; once a minute at most. */
export async function touchConnection(db: Db, id: string): Promise<void> {
  await db`
    update connections.connections set last_used_at = now()
    where id = ${id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
}

/** Forgets connections that ended 30 days ago. */
export async function forgetConnections(db: Db): Promise<void> {
  await db`delete from connections.connections where ended_at < now() - interval '30 days'`;
}

/** Apps that people of all accounts have let in, for a metric. */
export async function countConnections(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count from (select from connections.connections
      where ended_at is null and created_at is not null limit ${mostCounted}) as counted`;
  return row?.count ?? 0;
}
