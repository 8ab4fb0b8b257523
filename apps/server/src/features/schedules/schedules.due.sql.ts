import type { Clock } from '../../kernel/base/clock.ts';
import { type Db, nowOf } from '../../kernel/db/db.ts';
import { plainColumns, type ScheduleTerms } from './schedules.sql.ts';

/** A schedule that is due, and the pause of its account. */
export interface DueRow extends ScheduleTerms {
  /** Stored slots up to now; and how many come after. */
  past: string[];
  left: number;
  paused_at: string | null;
  paused_until: string | null;
}

/** Which due schedules are meant: an account's, one, or all but some. */
export interface DueFilter {
  accountId?: string;
  only?: string;
  except?: readonly string[];
}

/** Due schedules that are looked at to deal them; those of all accounts together are fewer while tickers keep up. */
const mostDealt = 20_000;

/** Locks due schedules that no other ticker holds, dealt by account in turn: the longest due of each, then the second. */
async function dealDue(db: Db, now: string, limit: number, { only, except = [] }: DueFilter): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    with due as (
      select id, account_id, next_run_at from schedules.schedules
      where next_run_at <= ${now} ${only === undefined ? db`` : db`and id = ${only}`}
        ${except.length === 0 ? db`` : db`and id <> all(${except as string[]}::uuid[])`}
      order by next_run_at limit ${mostDealt}
    ), dealt as (
      select id, next_run_at, row_number() over (partition by account_id order by next_run_at, id) as turn from due
    )
    select s.id from dealt d join schedules.schedules s on s.id = d.id
    where s.next_run_at <= ${now} order by d.turn, d.next_run_at limit ${limit} for update of s skip locked`;
  return rows.map(({ id }) => id);
}

/** Locks all schedules of an account that are due, in the order of their ids. */
async function lockDueOf(db: Db, accountId: string, now: string, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from schedules.schedules where account_id = ${accountId} and next_run_at <= ${now}
    order by id limit ${limit} for update`;
  return rows.map(({ id }) => id);
}

/**
 * Locks schedules that are due at `now`. For one account: in the order of their ids, waiting for other holders. Else: dealt by
 * account, skipping those that another ticker holds. An account that may not run anything counts as paused.
 */
export async function lockDue(db: Db, now: string, limit: number, filter: DueFilter): Promise<DueRow[]> {
  const { accountId } = filter;
  const ids = await (accountId === undefined ? dealDue(db, now, limit, filter) : lockDueOf(db, accountId, now, limit));
  if (ids.length === 0) return [];
  return db<DueRow[]>`
    select ${plainColumns(db)}, s.slots[1:p.n] as past, cardinality(s.slots) - p.n as left,
      case when a.may_run then z.paused_at else 'epoch' end as paused_at,
      case when a.may_run then z.until end as paused_until
    from schedules.schedules s left join schedules.pauses z using (account_id)
      join accounts.standing_view a on a.id = s.account_id
      cross join lateral (select count(*)::int as n from unnest(s.slots) slot where slot <= ${now}) p
    where s.id = any(${ids}::uuid[]) order by s.next_run_at, s.id`;
}

/** Ids of due schedules. */
export async function listDue(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from schedules.schedules where next_run_at <= ${now} order by next_run_at limit ${limit}`;
  return rows.map((row) => row.id);
}

/** Milliseconds until the next schedule is due, null when none is; and whether a pause has run out. */
export async function probeSchedules(
  db: Db,
  clock: Clock,
  except: readonly string[],
): Promise<{ ms: number | null; pauses: boolean }> {
  const [row] = await db<{ ms: number | null; pauses: boolean }[]>`
    select (extract(epoch from min(next_run_at) - ${nowOf(db, clock)}) * 1000)::float8 as ms,
      exists (select 1 from schedules.pauses where until <= ${nowOf(db, clock)}) as pauses
    from schedules.schedules ${except.length === 0 ? db`` : db`where id <> all(${except as string[]}::uuid[])`}`;
  return row ?? { ms: null, pauses: false };
}

/** Where a schedule stands after a tick. */
export interface Advance {
  id: string;
  /** Slots that are over. */
  past: number;
  /** In place of the stored slots that are left. */
  slots: string[] | undefined;
  /** Set when a slot fell into a pause. */
  missed_slot: string | null;
}

/** Moves schedules on, all in one statement. */
export async function advanceSchedules(db: Db, advances: readonly Advance[]): Promise<void> {
  const rows = advances.map(({ slots, ...rest }) => ({ ...rest, ...(slots && { slots: `{${slots.join(',')}}` }) }));
  await db`
    with a as (
      select a.id, a.missed_slot, coalesce(a.slots, s.slots[a.past + 1:]) as slots
      from json_to_recordset(${JSON.stringify(rows)}::json)
        as a(id uuid, past int, slots timestamptz[], missed_slot timestamptz)
      join schedules.schedules s on s.id = a.id
    )
    update schedules.schedules s set slots = a.slots, next_run_at = a.slots[1],
      missed_slot = coalesce(a.missed_slot, s.missed_slot)
    from a where s.id = a.id`;
}
