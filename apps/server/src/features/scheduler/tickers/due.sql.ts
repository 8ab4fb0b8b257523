import type { Clock } from '../../../kernel/base/clock.ts';
import { type Db, nowOf } from '../../../kernel/db/db.ts';
import { fragmentOf, leastId } from '../../../kernel/db/statement.ts';
import { isOfAny, runColumns, type RunRow } from '../scheduler.sql.ts';
import { runStates } from '../scheduler.states.ts';

/** Of any account: the same for runs that wait. */
const isOfAnyone = fragmentOf(`account_id >= ${leastId}`);

/** The kinds of work that are due for runs: an idle second costs one query, not ten. */
export async function probeRuns(
  db: Db,
  clock: Clock,
): Promise<{ overdue: boolean; late: boolean; chains: boolean; cloud: boolean }> {
  const now = () => nowOf(db, clock);
  const [row] = await db<{ overdue: boolean; late: boolean; chains: boolean; cloud: boolean }[]>`
    select
      exists (select 1 from scheduler.runs where state = 'running' and lease_expires_at <= ${now()})
        or exists (select 1 from scheduler.runs where state = 'running' and ${isOfAny(db)}
          and started_at + make_interval(secs => timeout_s + ${timeoutGraceSeconds}) <= ${now()})
        or exists (select 1 from scheduler.runs where state in ${runStates.sql('waiting')(db)}
          and created_at <= ${now()} - interval '24 hours' and not_before <= ${now()} - interval '24 hours') as overdue,
      exists (select 1 from scheduler.runs where state = 'pending' and late_at <= ${now()}) as late,
      exists (select 1 from scheduler.runs where kind = 'chain' and state in ${runStates.sql('unasked')(db)})
        or exists (select 1 from scheduler.runs where chain_step is not null
          and state in ${runStates.sql('active')(db)}) as chains,
      exists (select 1 from scheduler.runs where state = 'pending' and pool = 'cloud' and ${isOfAnyone(db)}
        and kind <> 'chain' and not_before <= ${now()}) as cloud`;
  return row ?? { overdue: false, late: false, chains: false, cloud: false };
}

/** Runs under way whose key has ended; the keys that have runs are found by their index, one step each. */
export async function listKeyless(db: Db, limit: number): Promise<{ id: string; schedule_id: string }[]> {
  const isActive = db`state in ${runStates.sql('active')(db)}`;
  return db`
    with recursive asking as (
      (select key_id from scheduler.runs where ${isActive} and key_id is not null order by key_id limit 1)
      union all
      select (select r.key_id from scheduler.runs r where ${isActive} and r.key_id > a.key_id order by r.key_id limit 1)
        from asking a where a.key_id is not null
    )
    select r.id, r.schedule_id
    from (select a.key_id from asking a where not exists (select 1 from keys.usable_view k where k.id = a.key_id) offset 0) e
      cross join lateral (
        select id, schedule_id from scheduler.runs where ${isActive} and key_id = e.key_id limit ${limit}) r
    limit ${limit}`;
}

/** Runs whose time for something has come, each with what it is; to be looked at again under its locks. */
export async function listOverdue(db: Db, now: string, limit: number): Promise<{ id: string; schedule_id: string }[]> {
  return db`
    (select id, schedule_id from scheduler.runs
      where state = 'running' and lease_expires_at <= ${now} order by lease_expires_at limit ${limit})
    union
    (select id, schedule_id from scheduler.runs
      where state = 'running' and ${isOfAny(db)} and started_at + make_interval(secs => timeout_s + ${timeoutGraceSeconds}) <= ${now}
      limit ${limit})
    union
    (select id, schedule_id from scheduler.runs
      where state in ${runStates.sql('waiting')(db)} and created_at <= ${now}::timestamptz - interval '24 hours'
        and not_before <= ${now}::timestamptz - interval '24 hours'
      order by created_at limit ${limit})`;
}

/** A host's own report of a timeout has this long to come before the platform ends the attempt. */
export const timeoutGraceSeconds = 15;

/** Takes runs that nobody started in time, so that one ticker says it once. */
export async function takeLate(db: Db, now: string, limit: number): Promise<RunRow[]> {
  return db<RunRow[]>`
    update scheduler.runs as r set late_at = null
    where r.id in (
      select id from scheduler.runs where state = 'pending' and late_at <= ${now}
      order by late_at limit ${limit} for update skip locked)
    returning ${runColumns(db)}`;
}
