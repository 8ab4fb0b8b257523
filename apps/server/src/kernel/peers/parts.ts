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

/** A process with a lease, or one that lost it less than a minute ago. */
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
      delete from kernel.gateways where lease_until < now() - interval '1 minute'
    )
    select id, lease_until > now() as live,
      extract(epoch from now() - lease_until)::float8 * 1000 + ${leaseSeconds * 1000}::int as silent_ms,
      part, extract(epoch from now() - worked_at)::float8 * 1000 as worked_ms
    from kernel.gateways where id <> ${own.id}`;
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
