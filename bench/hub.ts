// What the first page of the hub asks for, on an account that has many of everything: the overview, a search by name, a page of
// monitors.
import { openDatabase, type Sql } from '../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../apps/server/src/postgres/embedded.ts';
import { Connection, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench } from './lib/report.ts';
import { percentile } from './lib/stats.ts';

const flags = { monitors: 10_000, schedules: 1_000, runs: 100_000, requests: 300 };

/** Fills the one account of a new platform. Most is well; some monitors are down and some runs failed, of each a few hundred. */
async function fill(sql: Sql, { monitors, schedules, runs }: Omit<typeof flags, 'requests'>): Promise<void> {
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

await bench('hub', flags, async ({ requests, ...many }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 1);
  say(`${many.monitors} monitors, ${many.schedules} schedules, ${many.runs} runs`);
  await fill(sql, many);
  await sql.end();
  const connection = await Connection.open(platform.port);
  const headers = { authorization: `Bearer ${platform.key}` };
  const measure = async (path: string): Promise<{ ms: number[]; bytes: number }> => {
    const ms: number[] = [];
    let bytes = 0;
    for (let at = 0; at < requests; at += 1) {
      const from = performance.now();
      const { status, body } = await connection.exchange(requestText('GET', path, headers));
      if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
      ms.push(performance.now() - from);
      bytes = Buffer.byteLength(body);
    }
    // The first ones plan their queries.
    return { ms: ms.slice(requests / 10), bytes };
  };
  const overview = await measure('/v1/overview');
  const find = await measure('/v1/overview/find?q=monitor%2099');
  const list = await measure('/v1/heartbeats?sort=trouble&limit=100&days=30');
  const row = (what: string, { ms, bytes }: typeof overview) => ({
    what,
    'p50 ms': percentile(ms, 0.5),
    'p99 ms': percentile(ms, 0.99),
    bytes,
  });
  return {
    rows: [row('overview', overview), row('find by name', find), row('monitors, worst first, 30 days', list)],
    targets: [
      atMost('p50 ms of the overview', percentile(overview.ms, 0.5), 15),
      atMost('bytes of the overview', overview.bytes, 20_000),
      atMost('p50 ms of a search by name', percentile(find.ms, 0.5), 30),
    ],
  };
});
