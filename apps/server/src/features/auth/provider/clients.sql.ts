import type { Db } from '../../../kernel/db/db.ts';

/** An app that the operator registered. */
interface ClientRow {
  id: string;
  name: string;
  redirect_uris: string[];
  native: boolean;
  created_at: string;
}

/** The app with this id, of those that the operator registered. */
export async function findClient(db: Db, id: string): Promise<ClientRow | undefined> {
  const [row] = await db<ClientRow[]>`
    select id, name, redirect_uris, native, created_at from auth.clients where id = ${id}`;
  return row;
}

/** Apps that the operator registered, newest first. */
export async function listClients(db: Db): Promise<ClientRow[]> {
  return db<ClientRow[]>`
    select id, name, redirect_uris, native, created_at from auth.clients order by created_at desc, id`;
}

/** Registers an app; false when its id is taken. */
export async function insertClient(db: Db, client: Omit<ClientRow, 'created_at'>): Promise<boolean> {
  const { count } = await db`
    insert into auth.clients (id, name, redirect_uris, native)
    values (${client.id}, ${client.name}, ${client.redirect_uris}, ${client.native}) on conflict (id) do nothing`;
  return count > 0;
}

/** Removes an app; false when there was none. */
export async function deleteClient(db: Db, id: string): Promise<boolean> {
  return (await db`delete from auth.clients where id = ${id}`).count > 0;
}

/**
 * How many apps registered themselves: in all, and from one network within an hour. Holds until the transaction ends: the next to
 * register counts this one too.
 */
export async function countRegistrations(db: Db, address: string): Promise<{ all: number; recent: number }> {
  await db`select pg_advisory_xact_lock(hashtextextended('auth.registrations', 0))`;
  const [row] = await db<{ all: number; recent: number }[]>`
    select count(*)::int as all,
      count(*) filter (where address = ${address} and created_at > now() - interval '1 hour')::int as recent
    from auth.records where model = 'Client'`;
  return row ?? { all: 0, recent: 0 };
}

/** Notes where an app registered from. */
export async function noteRegistration(db: Db, idHash: Buffer, address: string): Promise<void> {
  await db`update auth.records set address = ${address} where model = 'Client' and id_hash = ${idHash}`;
}

/** An app that registered itself was let in or used: it is kept for another 30 days. */
export async function keepClient(db: Db, idHash: Buffer): Promise<void> {
  await db`
    update auth.records set expires_at = now() + interval '30 days'
    where model = 'Client' and id_hash = ${idHash} and expires_at < now() + interval '29 days'`;
}
