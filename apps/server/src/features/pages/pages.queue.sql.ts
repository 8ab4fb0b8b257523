import { type Db, nowOf, type Time } from '../../kernel/db/db.ts';
import { addressHash } from './pages.sql.ts';

/** An address that waits for the crawler. */
export interface Queued {
  address_hash: Buffer;
  url: string;
  host: string;
  kind: 'page' | 'sitemap';
  depth: number;
  attempts: number;
  /** Of a sitemap: further hosts whose pages it may list. */
  also_hosts: string[];
}

/** Addresses to fetch. */
interface ToQueue {
  readonly urls: readonly string[];
  readonly kind: 'page' | 'sitemap';
  readonly depth: number;
  readonly alsoHosts?: readonly string[];
}

/** Addresses that may wait at once. */
export const mostQueued = 200_000;
/** A crawler that says nothing for so long is gone. */
const leaseSeconds = 60;

/** Puts addresses in the line; one that waits already is tried at once. Answers how many wait now because of this. */
export async function enqueue(db: Db, clock: Time, { urls, kind, depth, alsoHosts = [] }: ToQueue): Promise<number> {
  let added = 0;
  for (let at = 0; at < urls.length; at += 1_000) {
    // One row a key: two spellings of an address are one.
    const rows = [...new Map(urls.slice(at, at + 1_000).map((url) => [addressHash(url).toString('hex'), url]))];
    const { count } = await db`
      insert into pages.queue (address_hash, url, host, kind, depth, also_hosts, due_at, added_at)
      select decode(hash, 'hex'), url, host, ${kind}, ${depth}, ${[...alsoHosts]}::text[], ${nowOf(db, clock)}, ${nowOf(db, clock)}
      from unnest(${rows.map(([hash]) => hash)}::text[], ${rows.map(([, url]) => url)}::text[],
        ${rows.map(([, url]) => new URL(url).host)}::text[]) as given (hash, url, host)
      on conflict (address_hash) do update set due_at = excluded.due_at, added_at = excluded.added_at, attempts = 0,
        also_hosts = excluded.also_hosts, error = null`;
    await keepHosts(db, clock, [...new Set(rows.map(([, url]) => new URL(url).host))]);
    added += count;
  }
  return added;
}

/** A row for each site, by which crawlers take turns. */
async function keepHosts(db: Db, clock: Time, hosts: readonly string[]): Promise<void> {
  await db`
    insert into pages.hosts (host, next_at) select host, ${nowOf(db, clock)} from unnest(${[...hosts]}::text[]) as given (host)
    on conflict do nothing`;
}

/** How many addresses wait, and how many failed and wait for another time, or for good. */
export async function countQueue(db: Db): Promise<{ waiting: number; failed: number }> {
  const [row] = await db<{ waiting: number; failed: number }[]>`
    select (count(*) - count(error))::int as waiting, count(error)::int as failed from pages.queue`;
  return row ?? { waiting: 0, failed: 0 };
}

/** Pages of the operator. */
export async function countShared(db: Db): Promise<number> {
  const [row] = await db<{ n: number }[]>`select count(*)::int as n from pages.pages where account_id is null`;
  return row?.n ?? 0;
}

/** Addresses that failed, the newest first, with the reason. */
export async function listFailed(db: Db, limit: number): Promise<{ url: string; attempts: number; error: string }[]> {
  return db`select url, attempts, error from pages.queue where error is not null order by due_at desc limit ${limit}`;
}

/**
 * Takes addresses that are due, one of each site that may be asked again now, and keeps others from asking these sites for
 * as long as the lease lasts.
 */
export async function takeDue(db: Db, clock: Time, most: number): Promise<Queued[]> {
  const now = nowOf(db, clock);
  return db<Queued[]>`
    with free as materialized (
      select host from pages.hosts
      where next_at <= ${now} and exists (select 1 from pages.queue as waiting
        where waiting.host = hosts.host and waiting.due_at <= ${now}
          and (waiting.leased_until is null or waiting.leased_until <= ${now}))
      order by next_at limit ${most} for update skip locked),
    held as (
      update pages.hosts set next_at = ${now} + make_interval(secs => ${leaseSeconds}) from free
      where hosts.host = free.host),
    chosen as (
      select picked.address_hash from free cross join lateral (
        select address_hash from pages.queue
        where queue.host = free.host and due_at <= ${now} and (leased_until is null or leased_until <= ${now})
        order by due_at, address_hash limit 1) as picked)
    update pages.queue set leased_until = ${now} + make_interval(secs => ${leaseSeconds}), attempts = attempts + 1,
      -- What ends its crawler comes back later each time.
      due_at = ${now} + make_interval(secs => least(86400, ${leaseSeconds} * power(4, least(attempts, 10))))
    from chosen where queue.address_hash = chosen.address_hash
    returning queue.address_hash, url, host, kind, depth, attempts, also_hosts`;
}

/** The site may be asked again after this. */
export async function freeHost(db: Db, clock: Time, host: string, pauseMs: number): Promise<void> {
  await db`
    update pages.hosts set next_at = ${nowOf(db, clock)} + make_interval(secs => ${pauseMs / 1000})
    where host = ${host}`;
}

/** It is done, or given up. */
export async function unqueue(db: Db, { address_hash }: Queued): Promise<void> {
  await db`delete from pages.queue where address_hash = ${address_hash}`;
}

/** It is tried again later; the reason is what `svc index list` shows. */
export async function putOff(db: Db, clock: Time, { address_hash }: Queued, ms: number, error: string): Promise<void> {
  await db`
    update pages.queue set leased_until = null, error = ${error.slice(0, 300)},
      due_at = ${nowOf(db, clock)} + make_interval(secs => ${ms / 1000})
    where address_hash = ${address_hash}`;
}

/** A site's robots.txt as it was kept; null: none was as yet. */
export async function readRobots(
  db: Db,
  clock: Time,
  host: string,
): Promise<{ robots: string | null; age_ms: number } | undefined> {
  const [row] = await db<{ robots: string | null; age_ms: number }[]>`
    select robots, coalesce(extract(epoch from ${nowOf(db, clock)} - robots_at) * 1000, 0)::float8 as age_ms
    from pages.hosts where host = ${host}`;
  return row;
}

/** Keeps a site's robots.txt; an empty one allows everything. */
export async function keepRobots(db: Db, clock: Time, host: string, robots: string): Promise<void> {
  await db`
    insert into pages.hosts (host, next_at, robots, robots_at)
    values (${host}, ${nowOf(db, clock)}, ${robots}, ${nowOf(db, clock)})
    on conflict (host) do update set robots = excluded.robots, robots_at = excluded.robots_at`;
}

/** Puts shared pages that nobody looked at for so long in the line again, some thousands at most. */
export async function enqueueOld(db: Db, clock: Time, days: number): Promise<void> {
  const rows = await db<{ address: string }[]>`
    select address from pages.pages
    where account_id is null and fetched_at < ${nowOf(db, clock)} - make_interval(days => ${days})
    order by fetched_at limit 10000`;
  await enqueue(db, clock, { urls: rows.map(({ address }) => address), kind: 'page', depth: 0 });
}

/** Forgets what failed and was added a month ago. */
export async function sweepFailed(db: Db, clock: Time): Promise<void> {
  await db`
    delete from pages.queue where error is not null and added_at < ${nowOf(db, clock)} - interval '30 days'`;
}

/** Forgets sites that nobody crawls any more. */
export async function sweepHosts(db: Db, clock: Time): Promise<void> {
  await db`
    delete from pages.hosts where next_at < ${nowOf(db, clock)} - interval '7 days'
      and not exists (select 1 from pages.queue where queue.host = hosts.host)`;
}
