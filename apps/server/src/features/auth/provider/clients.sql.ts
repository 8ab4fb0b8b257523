import type { Db } from '../../../kernel/db/db.ts';
import { countHeld, makeRoom } from '../people/room.sql.ts';

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

/** Apps that registered themselves and that nobody let in: those have a day. `keepClient` gives the others longer. */
const unused = (db: Db) => ({
  table: db`auth.records`,
  held: db`model = 'Client' and expires_at > now() and expires_at <= created_at + interval '25 hours'`,
  network: db`address`,
  since: db`created_at`,
});

/** Apps that a network registered within an hour. */
interface Recent {
  all: number;
  unused: number;
}

/**
 * Makes room for an app that registers itself where `most` wait to be let in; answers how many came from its network within an
 * hour, and how many of these nobody let in. Holds until the transaction ends: the next to register counts this one too.
 */
export async function makeRoomForClient(db: Db, network: string, most: number): Promise<Recent> {
  await db`select pg_advisory_xact_lock(hashtextextended('auth.registrations', 0))`;
  if ((await countHeld(db, unused(db), most)) >= most) await makeRoom(db, unused(db), Math.ceil(most / 100));
  const [row] = await db<Recent[]>`
    select count(*)::int as all, (count(*) filter (where ${unused(db).held}))::int as unused from auth.records
    where model = 'Client' and address = ${network} and created_at > now() - interval '1 hour'`;
  return row ?? { all: 0, unused: 0 };
}

/** An app that registered itself was let in or used: it is kept for longer than `seconds`, in which its grant ends unused. */
export async function keepClient(db: Db, idHash: Buffer, seconds: number): Promise<void> {
  await db`
    update auth.records set expires_at = now() + make_interval(secs => ${seconds}) + interval '1 day'
    where model = 'Client' and id_hash = ${idHash} and expires_at < now() + make_interval(secs => ${seconds})`;
}
