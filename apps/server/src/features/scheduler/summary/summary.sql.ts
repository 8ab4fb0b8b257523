import type { Db } from '../../../kernel/db/db.ts';
import { statement } from '../../../kernel/db/statement.ts';
import { listText } from '../../../kernel/machine.ts';
import { runColumns, type RunRow } from '../scheduler.sql.ts';
import { runStates } from '../scheduler.states.ts';

/** Runs of an account that wait for a person, that run, and that failed since an instant. */
export const countRuns = statement<{ awaiting: number; running: number; failed: number }>(`
  select
    (select count(*) from scheduler.runs where account_id = $1 and state = 'awaiting_approval')::int as awaiting,
    (select count(*) from scheduler.runs where account_id = $1 and state = 'running')::int as running,
    (select count(*) from (select 1 from scheduler.runs
      where account_id = $1 and state in ${listText(runStates.where('broken'))} and finished_at > $2::timestamptz
      limit 1000) few)::int as failed`);

/** A run that needs a person. */
interface WaitingRow {
  id: string;
  name: string;
  kind: string;
  command: string | null;
  since: string;
}

/** Runs that wait for a person, the oldest first. */
export const listAwaiting = statement<WaitingRow>(`
  select id, name, kind, created_at as since,
    case when kind = 'shell' then left(spec->>'command', 300) end as command
  from scheduler.runs where account_id = $1 and state = 'awaiting_approval' order by created_at limit $2`);

/** The first pending run of hosts of each schedule that may start by now, the oldest first. */
export async function listPending(db: Db, accountId: string, now: string, most: number): Promise<RunRow[]> {
  return db<RunRow[]>`
    select ${runColumns(db)} from scheduler.runs r
    where r.id in (select distinct on (schedule_id) id from (
      select id, schedule_id, scheduled_for from scheduler.runs
      where account_id = ${accountId} and state = 'pending' and pool = 'host' and not_before <= ${now}
      order by scheduled_for, id limit ${10 * most}
    ) first order by schedule_id, scheduled_for, id)
    order by r.created_at limit ${most}`;
}

/** The newest failure of each schedule since an instant, unless a later run of it went well. */
export const listFailed = statement<{ id: string; name: string; error: string | null; since: string }>(`
  select f.id, f.name, left(f.error, 300) as error, f.finished_at as since
  from (
    select distinct on (schedule_id) id, schedule_id, name, error, finished_at, ordinal from (
      select id, schedule_id, name, error, finished_at, ordinal from scheduler.runs
      where account_id = $1 and state in ${listText(runStates.where('broken'))} and finished_at > $2::timestamptz
        and parent_run_id is null
      order by finished_at desc limit 500
    ) newest order by schedule_id, ordinal desc
  ) f
  where not exists (
    select 1 from scheduler.runs r
    where r.schedule_id = f.schedule_id and r.ordinal > f.ordinal and r.state = 'succeeded')
  order by f.finished_at desc limit $3`);

/** The last runs of an account. */
export const listLatest = statement<{
  id: string;
  schedule_id: string;
  name: string;
  state: (typeof runStates.names)[number];
  at: string;
}>(`
  select id, schedule_id, name, state, coalesce(finished_at, started_at, created_at) as at
  from scheduler.runs where account_id = $1 order by ordinal desc limit $2`);
