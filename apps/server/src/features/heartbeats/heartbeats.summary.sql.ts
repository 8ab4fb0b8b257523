import { mostCounted } from '../../kernel/db/counted.ts';
import type { Db } from '../../kernel/db/db.ts';
import { namedStatement } from '../../kernel/db/named.ts';
import { statement } from '../../kernel/db/statement.ts';

/** By when a success is expected, as `expectedOf` of the rules says it. */
const expected = `coalesce(expected_at,
  greatest(coalesce(last_success_at, '-infinity'::timestamptz), armed_at) + period_s * interval '1 second')`;

/** Monitors of an account by status, at an instant. */
export const countMonitors = statement<{ status: string; late: number; n: number }>(`
  select status, count(*)::int as n,
    (count(*) filter (where status = 'up' and ${expected} <= $2::timestamptz))::int as late
  from heartbeats.monitors where account_id = $1 group by status`);

/** A monitor that needs a person. */
interface TroubledRow {
  id: string;
  name: string;
  is_down: boolean;
  /** Until when nobody is told; null: a person needs to look. */
  muted_until: string | null;
  since: string;
}

/** Monitors that are down or late at an instant, those that are silenced last, those that are down first, the newest trouble first. */
export const listTroubled = statement<TroubledRow>(`
  select id, name, (status = 'down') as is_down, case when muted_until > $2::timestamptz then muted_until end as muted_until,
    case when status = 'up' then ${expected}
      when last_ping_at > coalesce(last_success_at, '-infinity') then last_ping_at
      else ${expected} + grace_s * interval '1 second' end as since
  from (
    (select * from heartbeats.monitors where account_id = $1 and status = 'down' limit 500)
    union all
    (select * from heartbeats.monitors where account_id = $1 and status = 'up' and ${expected} <= $2::timestamptz limit 500)
  ) m
  order by (m.muted_until > $2::timestamptz) is true, is_down desc, since desc limit $3`);

/** Monitors by a part of their name. */
export const findMonitors = namedStatement('heartbeats.monitors', 'name');

/** Monitors of all accounts that are down, for a metric; `late_s`: for how long the oldest deadline has passed. */
export async function countDown(db: Db): Promise<{ down: number; late_s: number }> {
  const [row] = await db<{ down: number; late_s: number | null }[]>`
    select (select count(*)::int from (select from heartbeats.monitors
        where status = 'down' and armed_at is not null limit ${mostCounted}) as counted) as down,
      (select extract(epoch from now() - deadline)::float8 from heartbeats.monitors
        where deadline is not null order by deadline limit 1) as late_s`;
  return { down: row?.down ?? 0, late_s: Math.max(0, row?.late_s ?? 0) };
}
