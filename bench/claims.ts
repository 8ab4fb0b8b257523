// Claims of runs by 50 hosts over HTTP, beside what pg-boss and graphile-worker fetch, on the same Postgres.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run as runWorker } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { ensurePostgres, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atLeast, bench, type Row } from './lib/report.ts';
import { caller, createSchedules } from './lib/schedules.ts';
import { percentile } from './lib/stats.ts';

/** Work that was taken: how long each claim took, and what was taken, so that doubles show. */
interface Taken {
  readonly latencies: number[];
  readonly ids: string[];
  seconds: number;
}

await bench('claims', { runs: 10_000, claimers: 50 }, async ({ runs, claimers }, say) => {
  say(`${runs} runs, ${claimers} claimers`);
  const ours = await claimOurs(runs, claimers, say);
  using dataDir = temporaryDataDir();
  const postgres = await ensurePostgres(dataDir.path);
  const connection = { host: postgres.socketDir, port: postgres.port, user: postgres.user, database: 'postgres' };
  const boss = await fetchPgBoss(connection, runs, claimers, say);
  const worker = await workGraphile(connection, runs, claimers, say);
  await stopPostgres(postgres);
  const doubled = ours.claims.ids.length - new Set(ours.claims.ids).size;
  return {
    rows: [
      rowOf('svc, claim over HTTP', ours.claims),
      rowOf('svc, claim and result over HTTP', ours.whole),
      rowOf('svc, claim over HTTP after a quiet night', ours.burst),
      rowOf('pg-boss, fetch in process', boss.fetched),
      rowOf('pg-boss, fetch and complete in process', boss.whole),
      rowOf('graphile-worker, fetch and complete in process', worker),
    ],
    targets: [
      atLeast("claims/s : pg-boss's fetch", perSecond(ours.claims) / perSecond(boss.fetched), 0.7),
      atLeast('claims/s after a quiet night', perSecond(ours.burst), 340),
      { what: 'runs claimed twice', measured: doubled, asked: '0', met: doubled === 0 },
      {
        what: 'runs claimed',
        measured: ours.claims.ids.length,
        asked: `${runs}`,
        met: ours.claims.ids.length === runs,
      },
    ],
  };
});

function perSecond({ ids, seconds }: Taken): number {
  return ids.length / seconds;
}

function rowOf(who: string, taken: Taken): Row {
  const ms = (p: number): number | string => (taken.latencies.length > 0 ? percentile(taken.latencies, p) : '');
  return { who, 'per second': perSecond(taken), 'p50 ms': ms(0.5), 'p99 ms': ms(0.99), taken: taken.ids.length };
}

/** Lets `claimers` take until there is nothing left. */
async function drain(claimers: number, take: (claimer: number) => Promise<string | undefined>): Promise<Taken> {
  const taken: Taken = { latencies: [], ids: [], seconds: 0 };
  const began = performance.now();
  await Promise.all(
    Array.from({ length: claimers }, async (_, claimer) => {
      for (;;) {
        const from = performance.now();
        const id = await take(claimer);
        if (id === undefined) return;
        taken.latencies.push(performance.now() - from);
        taken.ids.push(id);
      }
    }),
  );
  taken.seconds = (performance.now() - began) / 1000;
  return taken;
}

interface Claimed {
  run: { id: string; attempt: number } | null;
}

async function claimOurs(runs: number, claimers: number, say: (text: string) => void) {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  say('svc: creating schedules');
  await createSchedules(platform, runs, { type: 'event', trigger_id: 'bench' });
  const { call, close } = caller(platform);
  const devices = Array.from({ length: claimers }, () => randomUUID());
  const claim = async (claimer: number) =>
    ((await call('POST', '/v1/scheduler/claim', {}, devices[claimer])) as Claimed).run ?? undefined;
  const end = async (id: string, attempt: number): Promise<void> => {
    await call('POST', `/v1/schedule-runs/${id}/result`, { attempt, ok: true, exit_code: 0 });
  };
  await call('POST', '/v1/triggers/bench/fire', {});
  say('svc: claiming');
  const claims = await drain(claimers, async (claimer) => (await claim(claimer))?.id);
  for (let from = 0; from < claims.ids.length; from += claimers) {
    await Promise.all(claims.ids.slice(from, from + claimers).map((id) => end(id, 1)));
  }
  await call('POST', '/v1/triggers/bench/fire', {});
  say('svc: claiming and ending');
  const whole = await drain(claimers, async (claimer) => {
    const run = await claim(claimer);
    if (run) await end(run.id, run.attempt);
    return run?.id;
  });
  // Auto-analyze does it in an idle minute: statistics say then that nothing waits, and a burst comes.
  const sql = openDatabase(
    { embedded: { socketDir: join(dataDir.path, 'run'), port: 5432, user: 'svc' }, database: 'svc' },
    1,
  );
  await sql`analyze`;
  await sql.end();
  await call('POST', '/v1/triggers/bench/fire', {});
  say('svc: claiming after a quiet night');
  const burst = await drain(claimers, async (claimer) => (await claim(claimer))?.id);
  close();
  return { claims, whole, burst };
}

type Connection = { host: string; port: number; user: string; database: string };

async function fetchPgBoss(connection: Connection, runs: number, claimers: number, say: (text: string) => void) {
  say('pg-boss');
  const boss = new PgBoss({ ...connection, max: 10, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue('bench');
  const insert = (): Promise<unknown> =>
    boss.insert(
      'bench',
      Array.from({ length: runs }, (_, n) => ({ data: { n } })),
    );
  await insert();
  const fetched = await drain(claimers, async () => (await boss.fetch('bench'))[0]?.id);
  await insert();
  const whole = await drain(claimers, async () => {
    const [job] = await boss.fetch('bench');
    if (job) await boss.complete('bench', job.id);
    return job?.id;
  });
  await boss.stop({ graceful: false });
  return { fetched, whole };
}

async function workGraphile(connection: Connection, runs: number, claimers: number, say: (text: string) => void) {
  say('graphile-worker');
  const { host, port, user, database } = connection;
  const connectionString = `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  const options = { connectionString, logger: new Logger(() => () => {}) };
  const utils = await makeWorkerUtils(options);
  await utils.migrate();
  for (let made = 0; made < runs; made += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, n) => utils.addJob('bench', { n: made + n })));
  }
  await utils.release();
  const taken: Taken = { latencies: [], ids: [], seconds: 0 };
  const done = Promise.withResolvers<void>();
  const began = performance.now();
  const task = (_payload: unknown, helpers: { job: { id: string } }): void => {
    taken.ids.push(helpers.job.id);
    if (taken.ids.length === runs) done.resolve();
  };
  const worker = await runWorker({ ...options, concurrency: claimers, taskList: { bench: task }, maxPoolSize: 10 });
  await done.promise;
  taken.seconds = (performance.now() - began) / 1000;
  await worker.stop();
  // Its pool closes connections after `stop` has answered.
  await delay(1_000);
  return taken;
}
