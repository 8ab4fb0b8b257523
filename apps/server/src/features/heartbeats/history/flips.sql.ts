import type { Db } from '../../../kernel/db/db.ts';
import type { ShownStatus } from '../heartbeats.rules.ts';

/** A change of status to be stored; `at` in milliseconds. */
interface NewFlip {
  monitorId: string;
  seq: number;
  at: number;
  was: ShownStatus;
  became: ShownStatus;
}

export async function insertFlips(db: Db, flips: readonly NewFlip[]): Promise<void> {
  const column = <T>(pick: (flip: NewFlip) => T): T[] => flips.map(pick);
  await db`
    insert into heartbeats.flips (monitor_id, seq, at, was, became)
    select * from unnest(
      ${column((f) => f.monitorId)}::uuid[], ${column((f) => f.seq)}::bigint[],
      ${column((f) => new Date(f.at).toISOString())}::timestamptz[],
      ${column((f) => f.was)}::text[], ${column((f) => f.became)}::text[])
    on conflict (monitor_id, seq) do nothing`;
}

/** Forgets flips up to a number, of each monitor, and notes since when its states are known. */
export async function trimFlips(db: Db, upTo: readonly { monitorId: string; seq: number }[]): Promise<void> {
  const old = db`
    unnest(${upTo.map((one) => one.monitorId)}::uuid[], ${upTo.map((one) => one.seq)}::bigint[]) as old (id, seq)`;
  await db`
    with gone as (
      delete from heartbeats.flips f using ${old} where f.monitor_id = old.id and f.seq <= old.seq
      returning f.monitor_id, f.seq, f.at
    ), last as (
      select distinct on (monitor_id) monitor_id, at from gone order by monitor_id, seq desc
    )
    update heartbeats.monitors m set known_since = greatest(m.known_since, last.at) from last where m.id = last.monitor_id`;
}

/** Forgets flips from before an instant (RFC 3339); what a monitor was before its oldest flip stands in that. */
export async function sweepFlips(db: Db, before: string): Promise<void> {
  await db`delete from heartbeats.flips where at < ${before}`;
}

/** A day of a monitor, in UTC, on which its status changed. */
export interface FlipDay {
  monitor_id: string;
  /** `2026-11-02`. */
  day: string;
  /** Before the first change of the day, and after its last. */
  first: ShownStatus;
  last: ShownStatus;
  /** All that it became on it. */
  became: ShownStatus[];
}

/** Days since an instant (RFC 3339) on which the status of these monitors changed, in order. */
export async function listFlipDays(db: Db, ids: readonly string[], since: string): Promise<FlipDay[]> {
  return db<FlipDay[]>`
    select monitor_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day, array_agg(distinct became) as became,
      (array_agg(was order by at, seq))[1] as first, (array_agg(became order by at desc, seq desc))[1] as last
    from heartbeats.flips where monitor_id = any(${[...ids]}::uuid[]) and at >= ${since}
    group by 1, 2 order by 1, 2`;
}
