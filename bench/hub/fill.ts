import type { Sql } from '../../apps/server/src/kernel/db/db.ts';

/** Fills the one account of a new platform. Most is well; some monitors are down and some runs failed, of each a few hundred. */
export async function fill(
  sql: Sql,
  { monitors, schedules, runs }: { monitors: number; schedules: number; runs: number },
): Promise<void> {
  const [account] = await sql<{ id: string }[]>`select id from accounts.accounts limit 1`;
  const id = account?.id ?? '';
  await sql`
    insert into heartbeats.monitors (account_id, name, period_s, grace_s, token_hash, status, armed_at, last_success_at,
      last_ping_at, created_at, updated_at)
    select ${id}, 'Monitor ' || n, 86400, 3600, decode(md5(n::text) || md5(n::text), 'hex'),
      case when n % 50 = 0 then 'down' else 'up' end, now(), now(), now(), now() - n * interval '1 s', now()
    from generate_series(1, ${monitors}::int) n`;
  await sql`
    insert into schedules.schedules (account_id, name, enabled, kind, spec, trigger, anchor_at, next_run_at, created_at, updated_at)
    select ${id}, 'Schedule ' || n, true, 'http', '{"url":"https://example.com"}', '{"type":"interval","every_s":86400}', now(),
      now() + interval '1 day' + n * interval '1 s', now() - n * interval '1 s', now()
    from generate_series(1, ${schedules}::int) n`;
  await sql`
    insert into scheduler.runs (account_id, schedule_id, scheduled_for, origin, state, created_at, not_before, name, kind, spec, pool,
      target_type, overlap, timeout_s, retries, retry_backoff_s, started_at, finished_at)
    select ${id}, s.id, now() - n * interval '1 min', 'manual', case when n % 100 = 7 then 'failed' else 'succeeded' end,
      now() - n * interval '1 min', now(), s.name, 'http', '{}', 'cloud', 'cloud', 'skip', 60, 0, 0,
      now() - n * interval '1 min', now() - n * interval '1 min'
    from generate_series(1, ${runs}::int) n
      join (select id, name, row_number() over (order by id) - 1 as at from schedules.schedules) s on s.at = n % ${schedules}::int`;
  await sql`analyze heartbeats.monitors, schedules.schedules, scheduler.runs`;
}
