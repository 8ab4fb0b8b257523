import { namedStatement } from '../../kernel/db/named.ts';
import { statement } from '../../kernel/db/statement.ts';

/** What runs next of an account, from an instant on. */
export const listNext = statement<{ schedule_id: string; name: string; at: string }>(`
  select id as schedule_id, name, next_run_at as at from schedules.schedules
  where account_id = $1 and next_run_at is not null order by next_run_at limit $2`);

/** Schedules by a part of their name. */
export const findSchedules = namedStatement('schedules.schedules', 'name');
