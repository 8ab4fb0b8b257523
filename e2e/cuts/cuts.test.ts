import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { openDatabase, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { Cursors, positionOf } from '../../apps/server/src/kernel/streams/feed.cursor.ts';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { randomOf, suiteSeed } from '../../apps/server/src/testing.random.ts';
import { http, until } from '../../apps/server/src/testing.ts';
import {
  freePort,
  killAll,
  noSandboxes,
  type Platform,
  type Running,
  start,
  startPlatform,
  temporaryFolder,
} from '../platform.ts';
import { Commander, Reader, Writer } from './clients.ts';
import { cuts, CuttingProxy } from './proxy.ts';

/** `SVC_TEST_CUTS=100000` for more; about 40 a second. */
const total = Number(process.env['SVC_TEST_CUTS'] ?? 80);
const seed = suiteSeed;
/** The clients are compared with the database after so many cuts; each time the writers rest. */
const compareEvery = total > 1_000 ? 100 : 20;
/** Every so many cuts something is killed, the bus goes away, or the database does. */
const killEvery = Math.max(50, total / 200);

/** A gateway whose clock is two hours ahead. */
const ahead = `data:text/javascript,${encodeURIComponent(
  'const D=Date,by=7200000;globalThis.Date=class extends D{constructor(...a){a.length?super(...a):super(D.now()+by)}static now(){return D.now()+by}};',
)}`;
const settings = [noSandboxes, { ...noSandboxes, NODE_OPTIONS: `--import=${ahead}` }] as const;

describe(`clients whose network is cut ${total} times, over two gateways, seed ${seed}`, () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const random = randomOf(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const gateways: Platform[] = [];
  const proxies: CuttingProxy[] = [];
  const readers: Reader[] = [];
  const writers: Writer[] = [];
  const done: Record<string, number> = {};
  const starts = join(folder.path, 'starts');
  let daemon: Running;
  let commander: Commander;
  let sql: Sql;
  let cursors: Cursors;
  let accountId: string;
  let key: string;
  let hostUrl: string;
  let compared = { xid: '0', seq: 0 };
  /** Prompts of which a creation is told. */
  const made: string[] = [];
  let slowestMs = 0;

  before(async () => {
    for (const one of settings) gateways.push(await startPlatform(dataDir, await freePort(), one));
    key = gateways[0]?.key as string;
    sql = openDatabase({ embedded: findRunning(dataDir) ?? assert.fail('no database'), database: 'svc' }, 2);
    const [fact] = await sql<{ value: Buffer }[]>`select value from kernel.facts where name = 'feed_epoch'`;
    const [row] = await sql<{ id: string }[]>`select account_id as id from keys.keys limit 1`;
    accountId = row?.id as string;
    cursors = new Cursors(fact?.value as Buffer, accountId);
    const { cursor } = (await http(gateways[0]?.url as string, '/v1/events', { key })).body;
    for (let n = 0; n < 3; n += 1) readers.push(new Reader(await openProxy(), key, cursor));
    for (let n = 0; n < 2; n += 1) writers.push(new Writer(await openProxy(), key, random));
    hostUrl = await openProxy();
    daemon = startDaemon();
    const [, deviceId = ''] = await daemon.printed(/connected as box \(([0-9a-f-]+)\)/);
    commander = new Commander(await openProxy(), key, { deviceId, file: starts });
  });
  after(async () => {
    await Promise.all([...writers, ...readers].map((each) => each.stop()));
    for (const proxy of proxies) proxy.close();
    await sql?.end({ timeout: 1 });
    await daemon?.end('SIGKILL');
    for (const gateway of gateways) await gateway.end();
    killAll();
    await folder.remove();
  });

  function startDaemon(): Running {
    const words = ['host', 'run', '--state-dir', join(folder.path, 'host'), '--name', 'box', '--allow-shell'];
    return start(words, { SVC_API_KEY: key, SVC_BASE_URL: hostUrl });
  }

  async function openProxy(): Promise<string> {
    const proxy = new CuttingProxy(random, () => gateways.map(({ port }) => port));
    proxies.push(proxy);
    return proxy.listen();
  }

  /** The changes since the last comparison, as the gateways tell them. */
  async function stored(): Promise<string[]> {
    const rows = await sql<
      { xid: string; seq: number; topic: string; op: string; id: string; at: string; record: string | null }[]
    >`
      select c.xid::text as xid, seq, topic, op, subject as id, at, body::text as record from kernel.changes c
      where account_id = ${accountId} and (c.xid, seq) > (${compared.xid}::text::xid8, ${compared.seq})
        and c.xid < (select kernel.feed_horizon()) order by c.xid, seq`;
    compared = rows.at(-1) ?? compared;
    for (const { topic, op, id } of rows) if (topic === 'prompts' && op === 'created') made.push(id);
    return rows.map(({ xid, seq, record, ...change }) =>
      JSON.stringify({
        cursor: cursors.encode(positionOf(xid, seq)),
        ...change,
        ...(record !== null && { record: JSON.parse(record) as unknown }),
      }),
    );
  }

  /**
   * Every client has exactly what the database has, in its order; while nobody writes. Waits until so many creations are told:
   * the feed ends before the oldest open transaction, which a ticker may hold, and then nobody has the last changes yet.
   */
  async function compare(creations = 0): Promise<void> {
    const began = performance.now();
    const expected: string[] = [];
    // A write whose connection was cut may be done after its repeat was answered.
    const isEqual = async (): Promise<boolean> => {
      expected.push(...(await stored()));
      return made.length >= creations && readers.every(({ changes }) => changes.length === expected.length);
    };
    await until(isEqual).catch(() => {
      // The comparison below says what is wrong.
    });
    slowestMs = Math.max(slowestMs, performance.now() - began);
    for (const reader of readers) {
      const at = expected.findIndex((change, n) => reader.changes[n] !== change);
      assert.equal(reader.changes[at], expected[at], `change ${at} of ${expected.length}`);
      assert.equal(reader.changes.length, expected.length);
      assert.deepEqual(reader.faults, []);
      reader.changes = [];
    }
  }

  const kills = {
    async gateway(): Promise<void> {
      const at = Math.floor(random() * gateways.length);
      const gateway = gateways[at] as Platform;
      await gateway.end('SIGKILL');
      gateways[at] = await startPlatform(dataDir, gateway.port, settings[at]);
    },
    async daemon(): Promise<void> {
      await daemon.end('SIGKILL');
      daemon = startDaemon();
    },
    async database(): Promise<void> {
      const { pid } = findRunning(dataDir) ?? assert.fail('the database does not run');
      process.kill(pid, 'SIGKILL');
      await until(() => findRunning(dataDir) !== undefined && findRunning(dataDir)?.pid !== pid);
      await until(async () => (await sql`select 1`.catch(() => [])).length === 1);
    },
    /** Nothing is heard over it, for some seconds. */
    async bus(): Promise<void> {
      for (let n = 0; n < 40; n += 1) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %'`.catch(() => {});
        await sleep(50);
      }
    },
  };

  test('each client has every change once and in order, and each write and command was done once', {
    timeout: 600_000 + 200 * total,
  }, async (t) => {
    for (let n = 1; n <= total; n += 1) {
      const kind = pick(cuts);
      pick(proxies).cut(kind);
      done[kind] = (done[kind] ?? 0) + 1;
      await sleep(random() * 15);
      if (n % killEvery === 0) {
        const what = pick(['gateway', 'gateway', 'daemon', 'daemon', 'bus', 'database'] as const);
        await kills[what]();
        done[what] = (done[what] ?? 0) + 1;
      }
      if (n % compareEvery !== 0) continue;
      await Promise.all(writers.map((writer) => writer.pause()));
      await compare();
      for (const writer of writers) writer.go();
    }
    const outcomes = await commander.outcomes();
    await Promise.all(writers.map((writer) => writer.stop()));
    const acknowledged = writers.flatMap(({ kept }) => [...kept.keys()]);
    await compare(acknowledged.length);
    const started = readFileSync(starts, 'utf8').split('\n').filter(Boolean);
    assert.equal(new Set(started).size, started.length, 'a command was started twice');
    for (const [name, state] of outcomes)
      assert.ok(state !== 'done' || started.includes(name), `${name} was not started`);
    assert.deepEqual(made.sort(), acknowledged.sort());
    const connections = readers.reduce((sum, reader) => sum + reader.connections, 0);
    t.diagnostic(
      `${total} cuts (${JSON.stringify(done)}), ${connections} connections, ${acknowledged.length} prompts, ` +
        `${outcomes.size} commands (${JSON.stringify(countsOf(outcomes.values()))}); ` +
        `equal again after at most ${Math.round(slowestMs)} ms`,
    );
  });
});

/** How often each occurs. */
const countsOf = (values: Iterable<string>): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
