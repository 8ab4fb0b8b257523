import { statement } from '../../kernel/db/statement.ts';

/** Notifications of an account that nobody has read. */
export const countUnread = statement<{ n: number }>(`
  select count(*)::int as n from notifications.notifications
  where account_id = $1 and read_at is null and archived_at is null`);

/** Critical ones that nobody has read and whose cause no other part shows, the newest first. */
export const listCritical = statement<{ id: string; title: string; body: string; since: string }>(`
  select id, title, left(body, 300) as body, created_at as since from (
    select * from notifications.notifications
    where account_id = $1 and read_at is null and archived_at is null order by seq desc limit 500
  ) newest
  where severity = 'critical' and type not like 'heartbeat.%' and type not like 'schedule.%' and type not like 'run.%'
  order by seq desc limit $2`);
