import type { Db } from '../../../kernel/db/db.ts';
import type { ScheduleRow } from '../schedules.sql.ts';

/** An enabled schedule with a timetable. */
export type TimedRow = Pick<ScheduleRow, 'id' | 'name' | 'trigger' | 'policy' | 'anchor_at' | 'slots'>;

/** Enabled schedules of an account that are due before an instant, those that are due first. */
export async function listDueBefore(db: Db, accountId: string, before: string, limit: number): Promise<TimedRow[]> {
  return db<TimedRow[]>`
    select id, name, trigger, policy, anchor_at, slots from schedules.schedules
    where account_id = ${accountId} and enabled and next_run_at < ${before}::timestamptz
    order by next_run_at, id limit ${limit}`;
}
