import type { Db, Sql } from '../db/db.ts';

const leaseSeconds = 10;

/** What a process of the platform is for, as `svc up --only` names it; `all` does everything. */
export type PartName = 'all' | 'gateway' | 'worker' | 'relay';

/** Work that is due by the clock counts as done by nobody after so long without a worker whose tickers turn. */
export const idleLimitMs = 40_000;

/** The part of a process with this role. */
export function partOf({ serves, works }: { serves: boolean; works: boolean }): PartName {
  if (serves) return works ? 'all' : 'gateway';
  return works ? 'worker' : 'relay';
}

/** Whether something that belongs to the platform is there; `none`: nothing of its kind belongs to it. */
export type PartPresence = 'there' | 'missing' | 'none';

/** A relay that was the last one is remembered for so long: whoever does without it from then on hears no more of it. */
const relayDays = 1;
/** A lease that was given up has been over for this long at once. */
const givenUpSeconds = 60;

/** A process with a lease, one that lost it less than a minute ago, or the last relay that there was. */
export interface PartLease {
  id: string;
  live: boolean;
  /** Null: of the release before, which told nothing of itself. */
  part: PartName | null;
  /** How long ago its tickers turned; null: it has none. */
  worked_ms: number | null;
}

/** The processes of the platform, as of now. */
export async function listParts(db: Db): Promise<PartLease[]> {
  return db<PartLease[]>`
    select id, lease_until > now() as live, part, extract(epoch from now() - worked_at)::float8 * 1000 as worked_ms
    from kernel.gateways order by id limit 1000`;
}

/** Another gateway: whether its lease holds, and how long ago it renewed it. */
interface Peer extends PartLease {
  silent_ms: number;
}

/** Renews the lease, drops leases long dead, answers the other gateways; one that left by itself has no row. */
export async function renewLease(sql: Sql, own: Pick<PartLease, 'id' | 'part' | 'worked_ms'>): Promise<Peer[]> {
  const workedSeconds = own.worked_ms === null ? null : own.worked_ms / 1_000;
  return sql<Peer[]>`
    with renewed as (
      insert into kernel.gateways (id, lease_until, part, worked_at)
      values (${own.id}, now() + make_interval(secs => ${leaseSeconds}), ${own.part},
        now() - make_interval(secs => ${workedSeconds}::float8))
      on conflict (id) do update set lease_until = excluded.lease_until, part = excluded.part, worked_at = excluded.worked_at
    ), dropped as (
      delete from kernel.gateways dead where lease_until < now() - interval '1 minute'
        and not (part is not distinct from 'relay' and lease_until > now() - make_interval(days => ${relayDays})
          and not exists (select from kernel.gateways later
            where later.part = 'relay' and (later.lease_until, later.id) > (dead.lease_until, dead.id)))
    )
    select id, lease_until > now() as live,
      extract(epoch from now() - lease_until)::float8 * 1000 + ${leaseSeconds * 1000}::int as silent_ms,
      part, extract(epoch from now() - worked_at)::float8 * 1000 as worked_ms
    from kernel.gateways where id <> ${own.id}`;
}

/** Gives a lease up. The row of a relay stays as that of one that was there. */
export async function endLease(sql: Sql, id: string): Promise<void> {
  await sql`
    with kept as (
      update kernel.gateways set lease_until = now() - make_interval(secs => ${givenUpSeconds})
      where id = ${id} and part = 'relay' returning 1)
    delete from kernel.gateways where id = ${id} and part is distinct from 'relay'`;
}

/** Keeps that these processes may have missed an announcement. */
export async function markMissed(sql: Sql, ids: string[]): Promise<void> {
  await sql`update kernel.gateways set missed = true where id = any(${ids}::uuid[])`;
}

/** Whether announcements were missed since the last call. */
export async function takeMissed(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`update kernel.gateways set missed = false where id = ${id} and missed returning 1`;
  return rows.length > 0;
}

/** Whether a lease was lost a moment ago, by a process that did not give it up. */
export const diedNow = ({ live, silent_ms: ms }: Pick<Peer, 'live' | 'silent_ms'>): boolean =>
  !live && ms < (givenUpSeconds + leaseSeconds) * 1_000;

/** Relays of the platform, by the rows that are there. */
export function relaysOf(rows: readonly Pick<PartLease, 'live' | 'part'>[]): { live: number; presence: PartPresence } {
  const relays = rows.filter(({ part }) => part === 'relay');
  const live = relays.filter((one) => one.live).length;
  if (relays.length === 0) return { live, presence: 'none' };
  return { live, presence: live > 0 ? 'there' : 'missing' };
}

/** How long ago anybody's tickers turned, by the rows that are there; undefined: by none of them. */
export function workedMs(rows: readonly Pick<PartLease, 'live' | 'part' | 'worked_ms'>[]): number | undefined {
  const ago = rows.flatMap(({ live, part, worked_ms: ms }) => (live && part === null ? [0] : (ms ?? [])));
  return ago.length === 0 ? undefined : Math.min(...ago);
}

/** Whether anybody does what is due by the clock, as a process sees it that looks at all leases every 2 s. */
export class WorkWatch {
  readonly #lookEveryMs: number;
  #workedAt = -Infinity;
  #lookedAt = -Infinity;

  constructor(lookEveryMs: number) {
    this.#lookEveryMs = lookEveryMs;
  }

  /** Notes what the leases say. Who did not look for a while knows of no silence meanwhile, and counts anew. */
  look(now: number, workedMsAgo: number | undefined): void {
    if (!this.#isFresh(now)) this.#workedAt = now;
    if (workedMsAgo !== undefined) this.#workedAt = Math.max(this.#workedAt, now - workedMsAgo);
    this.#lookedAt = now;
  }

  /** For how long nobody has worked; undefined when that is not known, as the leases could not be read. */
  silentMs(now: number): number | undefined {
    return this.#isFresh(now) ? Math.max(0, now - this.#workedAt) : undefined;
  }

  #isFresh(now: number): boolean {
    return now - this.#lookedAt < this.#lookEveryMs * 5;
  }
}

/** Whether the platform's relays are there, as a process sees it that looks at all leases every 2 s. */
export class RelayWatch {
  readonly #watch: WorkWatch;
  #last: ReturnType<typeof relaysOf> = { live: 0, presence: 'none' };

  constructor(lookEveryMs: number) {
    this.#watch = new WorkWatch(lookEveryMs);
  }

  get live(): number {
    return this.#last.live;
  }

  /** Notes what the leases say. */
  look(now: number, rows: Parameters<typeof relaysOf>[0]): void {
    this.#last = relaysOf(rows);
    this.#watch.look(now, this.#last.presence === 'missing' ? undefined : 0);
  }

  /** Missing: no relay has renewed a lease for 40 s; undefined while that is not known. */
  presence(now: number): PartPresence | undefined {
    const ms = this.#watch.silentMs(now);
    if (ms === undefined) return undefined;
    if (this.#last.presence !== 'missing') return this.#last.presence;
    return ms >= idleLimitMs - leaseSeconds * 1_000 ? 'missing' : undefined;
  }
}
