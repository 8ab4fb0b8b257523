import type { Db, Fragment } from '../../../kernel/db/db.ts';

/** Rows that strangers make, and that a table has so many of at most. */
interface Crowd {
  /** The table with its schema. */
  table: Fragment;
  /** Which of its rows count. */
  held: Fragment;
  /** The network that made a row, see `networkOf`. */
  network: Fragment;
  /** Grows with the age of rows: the smallest is the oldest. */
  since: Fragment;
}

/** How many of them there are, as far as `most`. */
export async function countHeld(db: Db, { table, held }: Crowd, most: number): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::int as n from (select from ${table} where ${held} limit ${most}) h`;
  return row?.n ?? 0;
}

/**
 * Makes room in a table that is full: of the /32 (IPv4: /16) that holds most, the /48 (/24) that holds most loses its oldest
 * rows, half of them at most and `atOnce` at most, so that a flood does not have the table read for each newcomer. Who holds
 * none is never refused. Of several that come at once one makes room.
 */
export async function makeRoom(db: Db, { table, held, network, since }: Crowd, atOnce: number): Promise<void> {
  await db`
    with held as materialized (
      select ctid as place, ${since} as since, nullif(${network}, '')::inet as source from ${table}
      where ${held} and (select pg_try_advisory_xact_lock(hashtextextended('auth.room', 0)))),
    sized as (
      select place, since,
        coalesce(network(set_masklen(source, case family(source) when 4 then 16 else 32 end)), '0.0.0.0/0') as wide,
        coalesce(network(set_masklen(source, case family(source) when 4 then 24 else 48 end)), '0.0.0.0/0') as narrow
      from held),
    largest as (
      select wide, narrow, count(*) as n from sized group by wide, narrow
      order by sum(count(*)) over (partition by wide) desc, n desc limit 1)
    delete from ${table} where ctid = any (array(
      select place from sized join largest using (wide, narrow)
      order by since limit (select greatest(1, least(${atOnce}::bigint, n / 2)) from largest)))`;
}
