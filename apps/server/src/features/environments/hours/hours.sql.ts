import { type Db, nowOf, type Time } from '../../../kernel/db/db.ts';

/** Begins to count the time of an environment, from now. */
export async function beginMeter(db: Db, now: string, environmentId: string): Promise<void> {
  await db`
    insert into environments.meters (environment_id, counted_until)
    values (${environmentId}, date_trunc('second', ${now}::timestamptz))
    on conflict (environment_id) do update set counted_until = coalesce(environments.meters.counted_until, excluded.counted_until)`;
}

/** Adds the time of a running environment, which is locked, to its hours; with `isOver` it runs no more. */
export async function countTime(
  db: Db,
  now: string,
  { environmentId, accountId, isOver }: { environmentId: string; accountId: string; isOver: boolean },
): Promise<void> {
  const until = db`date_trunc('second', ${now}::timestamptz)`;
  await db`
    with counted as (
      select environment_id, counted_until as began, greatest(counted_until, ${until}) as ends from environments.meters
      where environment_id = ${environmentId} and counted_until is not null),
    added as (
      insert into environments.hours as o (environment_id, starts_at, account_id, seconds)
      select environment_id, hour, ${accountId},
        extract(epoch from least(ends, hour + interval '1 hour') - greatest(began, hour))::int
      from counted, generate_series(date_trunc('hour', began), ends, interval '1 hour') as hour
      where least(ends, hour + interval '1 hour') > greatest(began, hour)
      on conflict (environment_id, starts_at) do update set seconds = o.seconds + excluded.seconds)
    update environments.meters m set counted_until = case when ${isOver} then null else ends end
    from counted where m.environment_id = counted.environment_id`;
}

/** An hour that is over and not charged. */
interface OpenHour {
  starts_at: string;
  account_id: string;
  seconds: number;
}

/** Hours of an environment that are over and not charged, oldest first. Its time is counted, and it is locked. */
export async function hoursToCharge(db: Db, now: string, environmentId: string): Promise<OpenHour[]> {
  return db<OpenHour[]>`
    select starts_at, account_id, seconds from environments.hours
    where environment_id = ${environmentId} and charged_micro_eur is null
      and starts_at + interval '1 hour' <= ${now}::timestamptz
    order by starts_at`;
}

/** Writes what an hour cost. */
export async function chargeHour(
  db: Db,
  now: string,
  hour: { environmentId: string; startsAt: string; included: number; charge: number; isPaid: boolean },
): Promise<void> {
  await db`
    update environments.hours
    set included_seconds = ${hour.included}, charged_micro_eur = ${hour.charge},
      paid_at = case when ${hour.isPaid} then ${now}::timestamptz end
    where environment_id = ${hour.environmentId} and starts_at = ${hour.startsAt}`;
}

/** Seconds of an environment in the UTC month of `at`: those of hours that are charged, which of them cost nothing, and others. */
export async function monthOf(
  db: Db,
  at: string,
  environmentId: string,
): Promise<{ charged: number; included: number; open: number }> {
  const [row] = await db<{ charged: number; included: number; open: number }[]>`
    select coalesce(sum(seconds) filter (where charged_micro_eur is not null), 0)::int as charged,
      coalesce(sum(included_seconds), 0)::int as included,
      coalesce(sum(seconds) filter (where charged_micro_eur is null), 0)::int as open
    from environments.hours
    where environment_id = ${environmentId} and starts_at >= date_trunc('month', ${at}::timestamptz, 'UTC')
      and starts_at < date_trunc('month', ${at}::timestamptz, 'UTC') + interval '1 month'`;
  return row ?? { charged: 0, included: 0, open: 0 };
}

/** Says how many seconds that cost nothing an environment used this month. */
export async function noteIncluded(db: Db, environmentId: string, seconds: number): Promise<void> {
  await db`
    update environments.environments set included_seconds_used = ${seconds}
    where id = ${environmentId} and included_seconds_used <> ${seconds}`;
}

/** What the hours of an account that are not charged yet come to, past `included` seconds a month of each environment. */
export async function openCosts(db: Db, accountId: string, included: number): Promise<number> {
  const [row] = await db<{ micro: number }[]>`
    select coalesce(sum(ceil(greatest(0, h.open - greatest(0, ${included}::int - e.included_seconds_used))
      * e.hourly_rate_micro_eur / 3600.0)), 0)::bigint as micro
    from (
      select environment_id, sum(seconds) as open from environments.hours
      where charged_micro_eur is null and account_id = ${accountId} group by environment_id) h
    join environments.environments e on e.id = h.environment_id`;
  return row?.micro ?? 0;
}

/** Hours of an account that its wallet could not pay, oldest first; locks them. */
export async function lockUnpaidHours(db: Db, accountId: string) {
  return db<{ environment_id: string; starts_at: string; charged_micro_eur: number }[]>`
    select environment_id, starts_at, charged_micro_eur from environments.hours
    where account_id = ${accountId} and charged_micro_eur is not null and paid_at is null
    order by starts_at, environment_id for update`;
}

/** Says that an hour was paid later. */
export async function payLate(
  db: Db,
  now: string,
  { environmentId, startsAt }: { environmentId: string; startsAt: string },
): Promise<void> {
  await db`
    update environments.hours set paid_at = ${now}::timestamptz
    where environment_id = ${environmentId} and starts_at = ${startsAt}`;
}

/** Environments that run, or have an hour that is over and not charged. */
export async function environmentsToMeter(db: Db, time: Time): Promise<string[]> {
  const rows = await db<{ environment_id: string }[]>`
    select environment_id from environments.meters where counted_until is not null
    union
    select environment_id from environments.hours
    where charged_micro_eur is null and starts_at + interval '1 hour' <= ${nowOf(db, time)}`;
  return rows.map(({ environment_id: id }) => id);
}

/** Whether an account is in good standing. */
export async function mayRun(db: Db, accountId: string): Promise<boolean> {
  return (await db`select from accounts.standing_view where id = ${accountId} and may_run`).length > 0;
}

/** Notes that the members of an environment were told how much of a month's budget is used; false when they had been. */
export async function noteTold(db: Db, environmentId: string, month: string, percent: number): Promise<boolean> {
  const { count } = await db`
    update environments.meters set told_month = ${month}, told_percent = ${percent}
    where environment_id = ${environmentId} and (told_month is distinct from ${month} or told_percent < ${percent})`;
  return count === 1;
}

/** Forgets hours that were paid over a year ago. */
export async function sweepHours(db: Db, time: Time): Promise<void> {
  await db`delete from environments.hours where paid_at < ${nowOf(db, time)} - interval '400 days'`;
}
