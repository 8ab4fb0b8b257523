import { mostCounted } from '../../../kernel/db/counted.ts';
import type { Db } from '../../../kernel/db/db.ts';
import { runStates } from '../scheduler.states.ts';

/** Runs of all accounts that are under way, for a metric. */
export async function countRuns(db: Db): Promise<{ waiting: number; running: number }> {
  const [row] = await db<{ waiting: number; running: number }[]>`
    select (select count(*)::int from (select from scheduler.runs
        where state in ${runStates.sql('waiting')(db)} and created_at is not null limit ${mostCounted}) as counted) as waiting,
      (select count(*)::int from (select from scheduler.runs
        where state = 'running' and lease_expires_at is not null limit ${mostCounted}) as counted) as running`;
  return { waiting: row?.waiting ?? 0, running: row?.running ?? 0 };
}
