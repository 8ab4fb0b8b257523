import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { cronError } from '@svc/timetable';
import { asOwner, openTest, testDatabase, until } from '../../testing.ts';
import { systemClock, type TestClock, testClock } from '../base/clock.ts';
import { createLog } from '../base/log.ts';
import { openDatabase, type Sql } from '../db/db.ts';
import { migrate } from '../db/migrate.ts';
import { asApplication } from '../db/role.ts';
import { sweepKernel } from '../sweep.ts';
import { type Job, openJobs } from './jobs.ts';

const noon = Date.UTC(2026, 10, 23, 12);
const minuteMs = 60_000;
type Definition = Job<unknown>;

/** A migrated database, a clock that stands at noon, and the timetables of gateways on both. */
async function openTimetable() {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await testDatabase());
  const clock = testClock(noon);
  const lines: { level: number; msg: string }[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as { level: number; msg: string });
  const log = createLog('info', { write } as unknown as NodeJS.WritableStream);
  const open = (): Sql =>
    stack.adopt(openDatabase(asApplication(database.target), 4), (sql) => sql.end({ timeout: 1 }));
  const sql = open();
  return {
    database,
    clock,
    lines,
    sql,
    /** A gateway with a pool of its own. */
    async start(...jobs: Definition[]) {
      const timetable = openJobs({ sql: open(), clock, log });
      stack.defer(() => timetable.close());
      await timetable.start(jobs, undefined);
      return timetable;
    },
    row: async (name: string) => {
      const [row] =
        await sql`select due_at, tries, lease_until is not null as leased from kernel.jobs where name = ${name}`;
      return row && { ...row };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Turns the clock, second by second, until `ready`: what follows a turn asks the database, which takes its time. */
const turnUntil = (clock: TestClock, ready: () => boolean | Promise<boolean>, stepMs = 1_000): Promise<void> =>
  until(async () => {
    if (await ready()) return true;
    clock.advance(stepMs);
    return false;
  });

/** A job of every minute that counts its runs. */
function counting(name: string, options: Partial<Definition> = {}) {
  const ran: number[] = [];
  const job = (clock: TestClock): Definition => ({
    name,
    cron: '* * * * *',
    run: () => Promise.resolve(void ran.push(clock.now())),
    ...options,
  });
  return { ran, job };
}

describe('jobs', () => {
  test('a slot runs once over all gateways', async () => {
    await using t = await openTimetable();
    const { ran, job } = counting('test.minute');
    for (let gateway = 0; gateway < 3; gateway += 1) await t.start(job(t.clock));
    for (let slot = 1; slot <= 5; slot += 1) {
      await turnUntil(t.clock, () => ran.length >= slot, 5_000);
      await until(async () => (await t.row('test.minute'))?.['leased'] === false);
    }
    const slots = ran.map((at) => Math.floor(at / minuteMs));
    assert.deepEqual([ran.length, new Set(slots).size], [5, 5]);
  });

  test('unless a test turns the time, slots are those of the clock of the database', async () => {
    await using t = await openTimetable();
    const { promise: ran, resolve } = Promise.withResolvers<void>();
    const timetable = openJobs({ sql: t.sql, clock: systemClock, log: createLog('silent') });
    await timetable.start(
      [{ name: 'test.second', cron: '* * * * * *', run: () => Promise.resolve(resolve()) }],
      undefined,
    );
    await ran;
    await timetable.close();
  });

  test('one that fails is tried again after 1, 2 and 4 s, as often as it says, then at its next slot', async () => {
    await using t = await openTimetable();
    // The clock is turned while tries are under way too, so each says what it was due by.
    const tries: { due: number; began: number; failed: number }[] = [];
    const run = async (): Promise<never> => {
      const began = t.clock.now();
      const row = await t.row('test.flaky');
      const due = Date.parse(String(row?.['due_at']));
      tries.push({ due, began, failed: t.clock.now() });
      throw new Error(`on purpose ${tries.length}`);
    };
    await t.start({ name: 'test.flaky', cron: '*/2 * * * *', retries: 3, run });
    await turnUntil(t.clock, () => tries.length === 5);
    const first = tries[0]?.due ?? 0;
    assert.equal(first, noon + 2 * minuteMs);
    for (const { due, began } of tries) assert.ok(began >= due);
    for (const [at, backoffMs] of [1_000, 2_000, 4_000].entries()) {
      const [failing, next] = tries.slice(at, at + 2) as [(typeof tries)[0], (typeof tries)[0]];
      assert.ok(next.due >= failing.due + backoffMs && next.due <= failing.failed + backoffMs, JSON.stringify(tries));
    }
    const last = tries[4]?.due ?? 0;
    assert.ok(last > first && last % (2 * minuteMs) === 0, JSON.stringify(tries));
    assert.deepEqual(t.lines.map(({ level, msg }) => `${level} ${msg}`).slice(0, 4), [
      ...Array.from({ length: 3 }, () => '40 a job failed; it is retried'),
      '50 a job failed',
    ]);
  });

  test('one that fails or hangs does not hold back the others', async () => {
    await using t = await openTimetable();
    const { ran, job } = counting('test.well');
    const hang = Promise.withResolvers<void>();
    await t.start(
      { name: 'test.bad', cron: '* * * * *', run: () => Promise.reject(new Error('on purpose')) },
      { name: 'test.hung', cron: '* * * * *', timeoutSeconds: 86_400, run: () => hang.promise },
      // Throws before its first await.
      { name: 'test.thrown', cron: '* * * * *', run: () => assert.fail('on purpose') },
      job(t.clock),
    );
    await turnUntil(t.clock, () => ran.length === 3, 5_000);
    hang.resolve();
  });

  test('after its timeout another gateway takes it, and the late one changes nothing in the row', async () => {
    await using t = await openTimetable();
    const hang = Promise.withResolvers<void>();
    const begun: string[] = [];
    const by = (name: string, run: () => Promise<void>): Definition => ({
      name: 'test.long',
      cron: '* * * * *',
      timeoutSeconds: 90,
      run: () => (begun.push(name), run()),
    });
    // Its clock stands still, as a frozen process does: it sees no timeout.
    const frozen = openJobs({
      sql: t.sql,
      clock: { ...t.clock, after: () => () => {}, every: () => () => {} },
      log: createLog('silent'),
    });
    await t.sql`insert into kernel.jobs (name, cron, due_at) values ('test.long', '* * * * *', ${new Date(noon).toISOString()})`;
    await frozen.start([by('frozen', () => hang.promise)], undefined);
    await until(() => begun.length === 1);
    const again = Promise.withResolvers<void>();
    await t.start(by('second', () => again.promise));
    await turnUntil(t.clock, () => begun.length === 2, 5_000);
    assert.ok(t.clock.now() >= noon + 90_000);
    const held = await t.row('test.long');
    assert.deepEqual([held?.['leased'], held?.['tries']], [true, 2]);
    hang.resolve();
    await frozen.close();
    assert.deepEqual(await t.row('test.long'), held);
    again.resolve();
    await until(async () => (await t.row('test.long'))?.['leased'] === false);
    assert.deepEqual(begun, ['frozen', 'second']);
  });

  test('one whose last try died with its process runs again at its next slot', async () => {
    await using t = await openTimetable();
    const { ran, job } = counting('test.minute', { retries: 0 });
    const past = new Date(noon - 400_000).toISOString();
    await t.sql`insert into kernel.jobs (name, cron, due_at, tries, lease_until)
      values ('test.minute', '* * * * *', ${past}, 1, ${new Date(noon - 100_000).toISOString()})`;
    await t.start(job(t.clock));
    await until(async () => (await t.row('test.minute'))?.['leased'] === false);
    assert.deepEqual([ran.length, t.lines.map(({ msg }) => msg)], [0, ['a job failed']]);
    await turnUntil(t.clock, () => ran.length > 0);
  });

  test('one that takes too long in a gateway that lives is tried again there', async () => {
    await using t = await openTimetable();
    let begun = 0;
    const hang = Promise.withResolvers<void>();
    const run = () => (++begun === 1 ? hang.promise : Promise.resolve());
    await t.start({ name: 'test.long', cron: '*/5 * * * *', timeoutSeconds: 30, run });
    await turnUntil(t.clock, () => begun === 2, 10_000);
    await until(async () => (await t.row('test.long'))?.['tries'] === 0);
    hang.resolve();
  });

  test('slots that were missed while nothing ran are run once at the start', async () => {
    await using t = await openTimetable();
    const { ran, job } = counting('test.minute');
    await (await t.start(job(t.clock))).close();
    t.clock.leap(3 * 3_600_000);
    const [again] = await Promise.all([t.start(job(t.clock)), t.start(job(t.clock))]);
    await until(async () => ran.length > 0 && (await t.row('test.minute'))?.['due_at'] === '2026-11-23T15:01:00.000Z');
    await again.close();
    assert.equal(ran.length, 1);
  });

  test('one whose timetable changed follows the new one at once', async () => {
    await using t = await openTimetable();
    const yearly = { name: 'test.moved', run: () => Promise.resolve() };
    await t.start({ ...yearly, cron: '0 0 1 1 *' });
    assert.equal((await t.row('test.moved'))?.['due_at'], '2027-01-01T00:00:00.000Z');
    await t.start({ ...yearly, cron: '*/5 * * * *' });
    assert.equal((await t.row('test.moved'))?.['due_at'], '2026-11-23T12:05:00.000Z');
  });

  test('one that no gateway has run for a day is dropped; one of another version is left to the gateways that know it', async () => {
    await using t = await openTimetable();
    await t.sql`insert into kernel.jobs (name, cron, due_at) values
      ('test.gone', '* * * * *', '2026-11-22T11:59:00Z'), ('test.other', '* * * * *', '2026-11-23T11:59:00Z')`;
    const { ran, job } = counting('test.mine');
    await t.start(job(t.clock));
    await turnUntil(t.clock, () => ran.length > 1, 10_000);
    const rows = await t.sql`select name, tries from kernel.jobs where name <> 'test.mine'`;
    assert.deepEqual([...rows], [{ name: 'test.other', tries: 0 }]);
  });

  test('a close lets a running job finish, and its result counts', async () => {
    await using t = await openTimetable();
    const hang = Promise.withResolvers<void>();
    let begun = 0;
    const job: Definition = { name: 'test.long', cron: '* * * * *', run: () => (void (begun += 1), hang.promise) };
    const gateway = await t.start(job);
    await turnUntil(t.clock, () => begun === 1, 10_000);
    const closing = gateway.close();
    hang.resolve();
    await closing;
    const { due_at: due, ...row } = (await t.row('test.long')) ?? {};
    assert.deepEqual(row, { tries: 0, leased: false });
    assert.ok(Date.parse(due as string) > t.clock.now() - minuteMs);
  });

  test('a close hands back what does not finish, which another gateway begins at once', async () => {
    await using t = await openTimetable();
    const hang = Promise.withResolvers<void>();
    let begun = 0;
    const job: Definition = { name: 'test.long', cron: '0 * * * *', run: () => (void (begun += 1), hang.promise) };
    const gateway = await t.start(job);
    await turnUntil(t.clock, () => begun === 1, 60_000);
    const closing = gateway.close();
    await turnUntil(t.clock, async () => (await t.row('test.long'))?.['leased'] === false);
    await closing;
    const back = await t.row('test.long');
    assert.deepEqual(back, { due_at: '2026-11-23T13:00:00.000Z', tries: 0, leased: false });
    hang.resolve();
    await t.sql`select 1`;
    assert.deepEqual(await t.row('test.long'), back, 'the late end of the closed one changes nothing');
    await t.start(job);
    await until(() => begun === 2);
  });

  test('an outage of the database is told once, and the jobs go on after it', async () => {
    await using t = await openTimetable();
    const { ran, job } = counting('test.minute');
    await t.start(job(t.clock));
    const name = (t.database.target as { database: string }).database;
    const server = { target: { ...t.database.target, database: 'postgres' } };
    const allow = (connections: boolean) =>
      asOwner(server, async (sql) => {
        await sql.unsafe(`alter database ${name} allow_connections ${connections}`);
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
      });
    await allow(false);
    await turnUntil(t.clock, () => t.lines.length > 0, 5_000);
    for (let look = 0; look < 20; look += 1) {
      t.clock.advance(1_000);
      await until(() => true);
    }
    assert.equal(ran.length, 0);
    await allow(true);
    await turnUntil(t.clock, () => ran.length === 2, 5_000);
    assert.deepEqual(
      t.lines.map(({ msg }) => msg),
      ['the timetable of jobs was not read; it is read again'],
    );
  });

  test('all jobs of the platform have a timetable that can be read, and a name of their own', async () => {
    await using t = await openTest();
    const { jobs } = t.gateway.app;
    assert.deepEqual(
      jobs.filter(({ cron }) => cronError(cron) !== undefined),
      [],
    );
    assert.equal(new Set(jobs.map(({ name }) => name)).size, jobs.length);
  });

  for (const [whose, queue, left] of [
    ['ours', 'audit.retire', 0],
    ["another program's", 'mail', 1],
  ] as const) {
    test(`tables of pg-boss in a database of a version before: ${whose} ${left === 0 ? 'go' : 'stay'}`, async () => {
      await using t = await openTest();
      await asOwner(t.database, async (sql) => {
        await sql.unsafe('create schema pgboss; create table pgboss.queue (name text)');
        await sql`insert into pgboss.queue values ('__pgboss__send-it'), (${queue})`;
        await sql.unsafe(`drop table kernel.jobs; delete from kernel.migrations where name = '0255.kernel.jobs'`);
        await migrate(sql);
        assert.equal((await sql`select 1 from pg_namespace where nspname = 'pgboss'`).length, left);
      });
    });
  }
});

describe('the sweep of the kernel', () => {
  test('forgets expired responses and past rate windows, and nothing else', async () => {
    await using t = await openTest();
    const { gateway } = t;
    const { sql } = gateway.kernel;
    const [account, id] = [randomUUID(), gateway.kernel.gateways.id];
    for (const [key, expires] of [
      ['old', '-1 second'],
      ['new', '1 hour'],
    ] as const) {
      await sql`insert into kernel.idempotency (account_id, route, key, request_hash, gateway_id, expires_at)
        values (${account}, 'x', ${key}, '', ${id}, now() + ${expires}::interval)`;
    }
    await sql`insert into kernel.rate_windows values ('x', 'old', now() - interval '6 minutes', 1, 1), ('x', 'new', now(), 1, 1)`;
    await sweepKernel.run(gateway.kernel);
    assert.deepEqual(
      (await sql`select key from kernel.idempotency`).map((row) => row['key']),
      ['new'],
    );
    assert.deepEqual(
      (await sql`select subject from kernel.rate_windows`).map((row) => row['subject']),
      ['new'],
    );
  });
});
