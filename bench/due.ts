// 10,000 schedules that are due in the same minute: how long after it each run is known to a client. Beside it, the
// cron of pg-boss with as many schedules.
import { setTimeout as delay } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { ensurePostgres, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { openEvents, requestText } from './lib/client.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { caller, createSchedules } from './lib/schedules.ts';
import { percentile } from './lib/stats.ts';

const minuteMs = 60_000;
function nextMinute(): number {
  return Math.ceil(Date.now() / minuteMs) * minuteMs;
}

await bench('due', { schedules: 10_000, 'peer-schedules': 10_000 }, async (options, say) => {
  const { schedules } = options;
  const ours = await measureOurs(schedules, say);
  const peer = await measurePgBoss(options['peer-schedules'], say);
  return {
    rows: [rowOf('svc', schedules, ours), rowOf('pg-boss cron', options['peer-schedules'], peer)],
    targets: [
      { what: 'runs created', measured: ours.length, asked: `${schedules}`, met: ours.length === schedules },
      atMost('lag p50, ms', percentile(ours, 0.5), 250),
      atMost('lag p99, ms', percentile(ours, 0.99), 1_000),
    ],
  };
});

function rowOf(who: string, due: number, lags: readonly number[]): Row {
  const ms = (p: number): number | string => (lags.length > 0 ? percentile(lags, p) : '');
  return { who, due, created: lags.length, 'lag p50 ms': ms(0.5), 'lag p99 ms': ms(0.99), 'longest ms': ms(1) };
}

/** Lags between the minute and the frame that tells of each run. */
async function measureOurs(schedules: number, say: (text: string) => void): Promise<number[]> {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, {
    SVC_RATE_REQUESTS: '100000000',
    SVC_QUOTA_SLOTS_PER_MINUTE: '100000',
  });
  say(`svc: creating ${schedules} schedules`);
  const { call, close } = caller(platform);
  // Nothing becomes a run before all of them are there.
  await call('POST', '/v1/schedules/pause', {});
  await createSchedules(platform, schedules, { type: 'cron', expr: '* * * * *' });
  await delay(1_000);
  await call('POST', '/v1/schedules/resume', {});
  if (nextMinute() - Date.now() < 10_000) await delay(nextMinute() - Date.now() + 100);
  await call('POST', '/v1/schedules/pause', {});
  await delay(nextMinute() - Date.now() - 5_000);
  await call('POST', '/v1/schedules/resume', {});
  const due = nextMinute();
  const lags: number[] = [];
  const request = requestText('GET', '/v1/schedules/stream', { authorization: `Bearer ${platform.key}` });
  // The stream begins with the first change.
  const streaming = openEvents(platform.port, request, (_event, data) => {
    if ((JSON.parse(data) as { op: string }).op === 'run') lags.push(Date.now() - due);
  });
  say('svc: waiting for the minute');
  for (const end = due + 30_000; lags.length < schedules && Date.now() < end; ) await delay(100);
  (await streaming).close();
  close();
  return lags;
}

/** Lags between the minute and the creation of each job, as the queue's own table has it. */
async function measurePgBoss(schedules: number, say: (text: string) => void): Promise<number[]> {
  using dataDir = temporaryDataDir();
  const postgres = await ensurePostgres(dataDir.path);
  const connection = { host: postgres.socketDir, port: postgres.port, user: postgres.user, database: 'postgres' };
  const boss = new PgBoss({ ...connection, cronMonitorIntervalSeconds: 1, cronWorkerIntervalSeconds: 1 });
  boss.on('error', () => {});
  await boss.start();
  await boss.createQueue('bench');
  say(`pg-boss: creating ${schedules} schedules`);
  for (let made = 0; made < schedules; made += 50) {
    const some = Array.from({ length: Math.min(50, schedules - made) }, (_, n) => `${made + n}`);
    await Promise.all(some.map((key) => boss.schedule('bench', '* * * * *', { key }, { key, tz: 'UTC' })));
  }
  if (nextMinute() - Date.now() < 10_000) await delay(nextMinute() - Date.now() + 100);
  const due = nextMinute();
  say('pg-boss: waiting for the minute');
  await delay(due - Date.now());
  const created = async (): Promise<number[]> => {
    const { rows } = await boss
      .getDb()
      .executeSql(`select extract(epoch from created_on) * 1000 as at from pgboss.job where name = 'bench'`, []);
    return (rows as { at: string }[]).map(({ at }) => Number(at) - due).filter((lag) => lag >= 0);
  };
  let lags: number[] = [];
  for (const end = due + 45_000; lags.length < schedules && Date.now() < end; ) {
    await delay(1_000);
    lags = await created();
  }
  await boss.stop({ graceful: false });
  await stopPostgres(postgres);
  return lags.slice(0, schedules);
}
