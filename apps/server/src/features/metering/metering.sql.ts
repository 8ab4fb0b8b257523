import { type Db, type Fragment, nowOf, type Time } from '../../kernel/db/db.ts';

/** The rate at which a span of time is charged. */
export type SpanKind = 'exec_v1' | 'exec_v2' | 'running' | 'paused';

interface Span {
  id: string;
  accountId: string;
  sandboxId: string;
  kind: SpanKind;
  bytes?: number;
}

/** Parts of a `with` that begin a span now; `from` may keep it from beginning, and `kind` be an expression of it. */
export function beginningSpan(
  db: Db,
  time: Time,
  span: Omit<Span, 'kind'> & { kind: SpanKind | Fragment },
  from: Fragment = db``,
): Fragment {
  const { id, accountId, sandboxId, kind, bytes = 0 } = span;
  return db`
    metered_account as (
      insert into metering.accounts (account_id, settled_until)
      select ${accountId}, to_timestamp(floor(extract(epoch from ${nowOf(db, time)}) / 600) * 600) ${from}
      on conflict do nothing),
    begun_span as (
      insert into metering.spans (id, account_id, sandbox_id, kind, bytes, started_at)
      select ${id}, ${accountId}, ${sandboxId}, ${kind}, ${bytes}, ${nowOf(db, time)} ${from})`;
}

/** Begins a span now. */
export async function insertSpan(db: Db, time: Time, span: Span): Promise<void> {
  await db`with ${beginningSpan(db, time, span)} select`;
}

/** Parts of a `with` that end a span after `ms`, or now; of a command it counts towards its days. */
export const endingSpan = (db: Db, time: Time, id: string, ms?: number): Fragment => db`
    ended_span as (
      update metering.spans set ended_at = case when ${ms ?? null}::bigint is null then ${nowOf(db, time)}
        else started_at + make_interval(secs => ${(ms ?? 0) / 1000}) end
      where id = ${id} and ended_at is null
      returning account_id, kind, started_at, ended_at),
    counted_days as (
      insert into metering.days (account_id, day, exec_ms)
      select account_id, (midnight at time zone 'UTC')::date,
        ceil(extract(epoch from least(ended_at, midnight + interval '1 day') - greatest(started_at, midnight)) * 1000)
      from ended_span, generate_series(date_trunc('day', started_at, 'UTC'), ended_at, interval '1 day') as midnight
      where kind in ('exec_v1', 'exec_v2')
      on conflict (account_id, day) do update set exec_ms = metering.days.exec_ms + excluded.exec_ms)`;

/** Ends a span after `ms`, or now. Nothing happens to one that has ended. */
export async function endSpan(db: Db, time: Time, id: string, ms?: number): Promise<void> {
  await db`with ${endingSpan(db, time, id, ms)} select`;
}

/** Ends the open spans of what ran, at an instant that is over. */
export async function endRunning(db: Db, at: string): Promise<void> {
  await db`
    update metering.spans set ended_at = greatest(started_at, ${at}::timestamptz)
    where ended_at is null and kind <> 'paused'`;
}

/** Ends the open spans of a sandbox, of the given kinds: now, or at an instant that is over. */
export async function endSpansOf(
  db: Db,
  time: Time,
  sandboxId: string,
  kinds: readonly SpanKind[],
  at?: string,
): Promise<void> {
  // Locks them too: a span that is put on hold meanwhile, or begins again, is seen below.
  if (kinds.includes('paused')) {
    await db`
      update metering.spans set on_hold = false
      where sandbox_id = ${sandboxId} and kind = 'paused' and (ended_at is null or on_hold)`;
  }
  const open = await db<{ id: string; ms: number }[]>`
    select id, greatest(0, extract(epoch from
      least(${at ?? null}::timestamptz, ${nowOf(db, time)}) - started_at) * 1000)::bigint as ms
    from metering.spans where sandbox_id = ${sandboxId} and ended_at is null and kind = any(${[...kinds]})`;
  for (const { id, ms } of open) await endSpan(db, time, id, at === undefined ? undefined : ms);
}

/** Ends the spans of snapshots whose accounts may not run, and marks them: a suspended account costs nothing. */
export async function holdSpans(db: Db, time: Time): Promise<void> {
  await db`
    update metering.spans s set ended_at = ${nowOf(db, time)}, on_hold = true
    from accounts.standing_view a
    where a.id = s.account_id and not a.may_run and s.kind = 'paused' and s.ended_at is null`;
}

/** Begins a new span for each that is on hold and whose account may run again. */
export async function continueSpans(db: Db, time: Time): Promise<void> {
  await db`
    with due as (
      update metering.spans s set on_hold = false
      from accounts.standing_view a where s.on_hold and a.id = s.account_id and a.may_run
      returning s.account_id, s.sandbox_id, s.bytes)
    insert into metering.spans (id, account_id, sandbox_id, kind, bytes, started_at)
    select gen_random_uuid(), account_id, sandbox_id, 'paused', bytes, ${nowOf(db, time)} from due
    where not exists (select 1 from metering.spans o where o.sandbox_id = due.sandbox_id and o.ended_at is null)`;
}

/** A part of a `with` that removes a span which came to nothing. */
export const removingSpan = (db: Db, id: string): Fragment =>
  db`removed_span as (delete from metering.spans where id = ${id} and ended_at is null)`;

/** An expression: milliseconds of commands today (UTC), those that still run among them with what they took since midnight. */
export const msToday = (db: Db, time: Time, accountId: string): Fragment => db`
    (coalesce((select exec_ms from metering.days
        where account_id = ${accountId} and day = (${nowOf(db, time)} at time zone 'UTC')::date), 0)
      + coalesce((select sum(extract(epoch from ${nowOf(db, time)}
          - greatest(started_at, date_trunc('day', ${nowOf(db, time)}, 'UTC'))) * 1000) from metering.spans
        where account_id = ${accountId} and ended_at is null and kind in ('exec_v1', 'exec_v2')), 0))::bigint`;

export async function execMsToday(db: Db, time: Time, accountId: string): Promise<number> {
  const [row] = await db<{ ms: number }[]>`select ${msToday(db, time, accountId)} as ms`;
  return row?.ms ?? 0;
}

/** An expression: what the account owes for buckets that its wallet could not pay, in micro-euro. */
export const owed = (db: Db, accountId: string): Fragment => db`
    coalesce((select sum(charge_micro_eur) from metering.buckets
      where account_id = ${accountId} and paid_at is null), 0)::bigint`;

export async function unpaidOf(db: Db, accountId: string): Promise<number> {
  const [row] = await db<{ owed: number }[]>`select ${owed(db, accountId)} as owed`;
  return row?.owed ?? 0;
}

/** Unpaid buckets, oldest first; locks them. */
export async function lockUnpaid(db: Db, accountId: string) {
  return db<{ starts_at: string; charge_micro_eur: number }[]>`
    select starts_at, charge_micro_eur from metering.buckets
    where account_id = ${accountId} and paid_at is null order by starts_at for update`;
}

/** Until when a span has something to say to buckets: a snapshot is charged with the last one of its hour. */
const countsUntil = (db: Db) => db`
  case when s.kind = 'paused' then date_trunc('hour', s.ended_at) + interval '1 hour' else s.ended_at end`;

/** Accounts with closed buckets that are not settled. */
export async function accountsToSettle(db: Db, time: Time, limit: number): Promise<string[]> {
  const rows = await db<{ account_id: string }[]>`
    select a.account_id from metering.accounts a
    where a.settled_until + interval '10 minutes' <= ${nowOf(db, time)}
      and exists (select 1 from metering.spans s where s.account_id = a.account_id
        and (s.ended_at is null or ${countsUntil(db)} > a.settled_until))
    limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Takes an account for settling: how far it is, and the newest instant that may be; undefined when another does it. */
export async function lockAccount(db: Db, time: Time, accountId: string) {
  const [row] = await db<{ settled_until: string; now: string }[]>`
    select settled_until, ${nowOf(db, time)} as now from metering.accounts
    where account_id = ${accountId} for update skip locked`;
  return row;
}

/** The start of the first bucket at or after `from` in which something counts; undefined when nothing does. */
export async function firstBucketWithUse(db: Db, accountId: string, from: string): Promise<string | undefined> {
  const [row] = await db<{ starts_at: string | null }[]>`
    select to_timestamp(floor(extract(epoch from min(greatest(s.started_at, ${from}::timestamptz))) / 600) * 600)
      as starts_at
    from metering.spans s where account_id = ${accountId}
      and (ended_at is null or ${countsUntil(db)} > ${from}::timestamptz)`;
  return row?.starts_at ?? undefined;
}

/** When the oldest command that still runs began; undefined when none does. What it counts is known once it has ended. */
export async function oldestOpenExec(db: Db, accountId: string): Promise<string | undefined> {
  const [row] = await db<{ started_at: string | null }[]>`
    select min(started_at) as started_at from metering.spans
    where account_id = ${accountId} and ended_at is null and kind in ('exec_v1', 'exec_v2')`;
  return row?.started_at ?? undefined;
}

/** The counted use between two instants. */
export async function useBetween(db: Db, accountId: string, from: string, to: string) {
  const [row] = await db<{ v1_ms: number; v2_ms: number; paused_byte_ms: number }[]>`
    select
      coalesce(sum(ms) filter (where kind = 'exec_v1' and ended_at is not null), 0)::bigint as v1_ms,
      coalesce(sum(ms) filter (where kind = 'running'), 0)::bigint as v2_ms,
      coalesce(sum(ms * bytes) filter (where kind = 'paused'), 0)::float8 as paused_byte_ms
    from (
      select kind, bytes, ended_at, extract(epoch from
        least(coalesce(ended_at, ${to}::timestamptz), ${to}::timestamptz) - greatest(started_at, ${from}::timestamptz)
      ) * 1000 as ms
      from metering.spans where account_id = ${accountId} and started_at < ${to}::timestamptz
        and (ended_at is null or ended_at > ${from}::timestamptz)) as s
    where ms > 0`;
  return row ?? { v1_ms: 0, v2_ms: 0, paused_byte_ms: 0 };
}

/** The use of each of these sandboxes until now, of spans that are not forgotten. */
export async function useOfSandboxes(db: Db, time: Time, ids: readonly string[]) {
  return db<{ sandbox_id: string; v1_ms: number; v2_ms: number; paused_byte_ms: number }[]>`
    select sandbox_id, coalesce(sum(ms) filter (where kind = 'exec_v1'), 0)::bigint as v1_ms,
      coalesce(sum(ms) filter (where kind = 'running'), 0)::bigint as v2_ms,
      coalesce(sum(ms * bytes) filter (where kind = 'paused'), 0)::float8 as paused_byte_ms
    from (
      select sandbox_id, kind, bytes,
        greatest(0, extract(epoch from coalesce(ended_at, ${nowOf(db, time)}) - started_at)) * 1000 as ms
      from metering.spans where sandbox_id = any(${[...ids]}::uuid[])) as s
    group by sandbox_id`;
}

/** The use of the UTC month of `at`, in buckets before it. */
export async function monthBefore(db: Db, accountId: string, at: string) {
  const [row] = await db<{ v1_ms: number; v2_ms: number; paused_byte_ms: number }[]>`
    select coalesce(sum(v1_ms), 0)::bigint as v1_ms, coalesce(sum(v2_ms), 0)::bigint as v2_ms,
      coalesce(sum(paused_byte_ms), 0)::float8 as paused_byte_ms
    from metering.buckets where account_id = ${accountId} and starts_at < ${at}::timestamptz
      and starts_at >= date_trunc('month', ${at}::timestamptz, 'UTC')`;
  return row ?? { v1_ms: 0, v2_ms: 0, paused_byte_ms: 0 };
}

/** Stores a settled bucket; false when it is there already. */
export async function insertBucket(
  db: Db,
  time: Time,
  bucket: {
    accountId: string;
    startsAt: string;
    v1Ms: number;
    v2Ms: number;
    pausedByteMs: number;
    charge: number;
    paid: boolean;
  },
): Promise<boolean> {
  const { accountId, startsAt, v1Ms, v2Ms, pausedByteMs, charge, paid } = bucket;
  const rows = await db`
    insert into metering.buckets (account_id, starts_at, v1_ms, v2_ms, paused_byte_ms, charge_micro_eur, paid_at)
    select ${accountId}, ${startsAt}, ${v1Ms}, ${v2Ms}, ${pausedByteMs}, ${charge},
      case when ${paid} then ${nowOf(db, time)} end
    on conflict do nothing returning 1`;
  return rows.length > 0;
}

export async function markPaid(db: Db, time: Time, accountId: string, startsAt: string): Promise<void> {
  await db`
    update metering.buckets set paid_at = ${nowOf(db, time)}
    where account_id = ${accountId} and starts_at = ${startsAt}`;
}

/** Notes how far an account is settled. */
export async function saveSettled(db: Db, accountId: string, until: string): Promise<void> {
  await db`update metering.accounts set settled_until = ${until} where account_id = ${accountId}`;
}

/** Forgets spans that were settled over a month ago; those on hold go on one day. */
export async function deleteOldSpans(db: Db, time: Time): Promise<void> {
  await db`delete from metering.spans where ended_at < ${nowOf(db, time)} - interval '40 days' and not on_hold`;
}
