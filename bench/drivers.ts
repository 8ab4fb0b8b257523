// postgres.js beside pg on three hot paths: the query of an authenticated GET, a claim, an insert of 500 usage records.
import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Pool, types } from 'pg';
import { listDevices } from '../apps/server/src/features/devices/devices.sql.ts';
import { claimForHost } from '../apps/server/src/features/scheduler/claims/claims.sql.ts';
import { type Db, openDatabase } from '../apps/server/src/kernel/db/db.ts';
import { writeUsage } from '../apps/server/src/kernel/records/usage.ts';
import { startPlatform, temporaryDataDir } from './lib/platform.ts';
import { bench, type Row } from './lib/report.ts';
import { caller, createSchedules } from './lib/schedules.ts';
import { median, percentile } from './lib/stats.ts';

/** A driver, as the functions of *.sql.ts use it. */
interface Driver {
  readonly who: string;
  readonly db: Db;
  end: () => Promise<unknown>;
}

/** One hot path: how often a round does it, what comes before the round, and the query itself. */
interface Path {
  readonly what: string;
  readonly times: number;
  prepare?: () => Promise<unknown>;
  run: (db: Db, turn: number) => Promise<unknown>;
}

interface Round {
  readonly client: number;
  readonly postgres: number;
  readonly writes: number;
  readonly latencies: readonly number[];
}

const levels = [8, 32];
const runCount = 1_000;

await bench('drivers', { rounds: 5 }, async ({ rounds }, say) => {
  using dataDir = temporaryDataDir();
  await using platform = await startPlatform(dataDir.path, { SVC_RATE_REQUESTS: '100000000' });
  const { call, close } = caller(platform);
  await call('GET', '/v1/devices', undefined, randomUUID());
  say(`creating ${runCount} schedules`);
  await createSchedules(platform, runCount, { type: 'event', trigger_id: 'bench' });
  await call('POST', '/v1/triggers/bench/fire', {});
  close();
  const socketDir = join(dataDir.path, 'run');
  const connections = availableParallelism() + 1;
  const drivers = [postgresJs(socketDir, connections), pg(socketDir, connections)];
  const paths = await pathsOn((drivers[0] as Driver).db);
  const postmaster = Number(readFileSync(join(dataDir.path, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
  const rows: Row[] = [];
  for (const path of paths) {
    for (const level of levels) {
      say(`${path.what}, ${level} in flight, ${connections} connections`);
      const found = drivers.map(() => [] as Round[]);
      for (let round = 0; round <= rounds; round++) {
        for (const [index, { db }] of drivers.entries()) {
          await path.prepare?.();
          const measured = await measure(path, db, level, postmaster);
          // The first prepares statements.
          if (round > 0) found[index]?.push(measured);
        }
      }
      rows.push(...drivers.map(({ who }, index) => rowOf(path.what, level, who, found[index] ?? [])));
    }
  }
  for (const driver of drivers) await driver.end();
  return { rows, targets: [] };
});

function postgresJs(socketDir: string, max: number): Driver {
  const sql = openDatabase({ embedded: { socketDir, port: 5432, user: 'svc' }, database: 'svc' }, max);
  return { who: 'postgres.js', db: sql, end: () => sql.end({ timeout: 1 }) };
}

/** `pg` behind the two forms of a query that our functions use: a template, and a text that is prepared. */
function pg(socketDir: string, max: number): Driver {
  types.setTypeParser(20, Number);
  types.setTypeParser(1184, (text) => text);
  const pool = new Pool({ host: socketDir, user: 'svc', database: 'svc', max, options: '-c TimeZone=UTC' });
  const names = new Map<string, string>();
  const query = async (text: string, values: unknown[]): Promise<unknown[]> => {
    const name = names.get(text) ?? createHash('md5').update(text).digest('hex');
    names.set(text, name);
    return (await pool.query({ name, text, values })).rows;
  };
  const template = (strings: TemplateStringsArray, ...values: unknown[]): Promise<unknown[]> =>
    query(
      strings.reduce((text, part, n) => `${text}$${n}${part}`),
      values,
    );
  const db = Object.assign(template, { unsafe: query }) as unknown as Db;
  return { who: 'pg', db, end: () => pool.end() };
}

async function pathsOn(db: Db): Promise<Path[]> {
  const [device] = await db<{ account_id: string }[]>`select account_id from devices.devices limit 1`;
  const [key] = await db<{ id: string }[]>`select id from keys.keys limit 1`;
  const [accountId, keyId] = [device?.account_id ?? '', key?.id ?? ''];
  const hosts = Array.from({ length: 32 }, () => randomUUID());
  const records = Array.from({ length: 500 }, (_, n) => ({
    at: Date.now(),
    accountId,
    keyId,
    deviceId: undefined,
    route: 'devices.list',
    status: 200,
    bytes: n,
    ms: 1,
    costMicroUsd: 0,
    traceId: randomUUID(),
  }));
  const claim = (db: Db, turn: number) => {
    const host = { deviceId: hosts[turn % hosts.length] ?? '', kinds: ['agent'], tags: [] };
    const [now, until] = [0, 60_000].map((ms) => new Date(Date.now() + ms).toISOString()) as [string, string];
    return claimForHost(db, accountId, host, { holderId: host.deviceId, now, leaseUntil: until }, false);
  };
  // Not a move: the runs of the round before wait again.
  const reset = () =>
    db.unsafe(`update scheduler.runs set state = 'pending', holder_id = null where state = 'running'`);
  return [
    { what: 'authenticated GET', times: 4_000, run: (db) => listDevices(db, accountId, { limit: 100 }) },
    { what: 'claim', times: 600, prepare: reset, run: claim },
    { what: '500 usage records', times: 64, run: (db) => writeUsage(db, records) },
  ];
}

async function measure({ times, run }: Path, db: Db, level: number, postmaster: number): Promise<Round> {
  const latencies: number[] = [];
  const before = { own: process.cpuUsage(), postgres: cpuOfChildren(postmaster), writes: writes() };
  let turn = 0;
  await Promise.all(
    Array.from({ length: level }, async () => {
      while (turn < times) {
        const from = performance.now();
        await run(db, turn++);
        latencies.push(performance.now() - from);
      }
    }),
  );
  const own = process.cpuUsage(before.own);
  return {
    client: (own.user + own.system) / times,
    postgres: (cpuOfChildren(postmaster) - before.postgres) / times,
    writes: (writes() - before.writes) / times,
    latencies,
  };
}

/** Microseconds of CPU that the backends of a server have had. */
function cpuOfChildren(postmaster: number): number {
  let ns = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (Number(parent) === postmaster) ns += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It ended meanwhile.
    }
  }
  return ns / 1_000;
}

/** Write calls of this process: fewer than queries where several go out together. */
function writes(): number {
  return Number(/^syscw: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? Number.NaN);
}

function rowOf(what: string, level: number, who: string, rounds: readonly Round[]): Row {
  const middle = (pick: (round: Round) => number): number => median(rounds.map(pick));
  return {
    what,
    'in flight': level,
    who,
    'client us a query': middle((round) => round.client),
    'Postgres us': middle((round) => round.postgres),
    'p50 ms': middle((round) => percentile(round.latencies, 0.5)),
    'p99 ms': middle((round) => percentile(round.latencies, 0.99)),
    'writes a query': middle((round) => round.writes),
  };
}
