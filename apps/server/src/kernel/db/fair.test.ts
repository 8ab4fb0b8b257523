import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, testDatabase, until } from '../../testing.ts';
import { inTransaction, openDatabase, type Sql } from './db.ts';
import { fairPool, onBehalfOf } from './fair.ts';

describe('a pool that all accounts share', () => {
  const { database } = shared(async () => {
    const made = await testDatabase();
    return { database: made, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
  });
  /** Pools of `most` connections, and one apart that holds what others wait for. */
  async function open(most: number, clock?: { monotonic: () => number }) {
    await using opening = new AsyncDisposableStack();
    const pool = (max: number) =>
      opening.adopt(openDatabase(database.target, max), (opened) => opened.end({ timeout: 1 }));
    const [sql, apart] = [
      fairPool(
        Array.from({ length: most + 1 }, () => pool(1)),
        clock,
      ),
      pool(2),
    ];
    const stack = opening.move();
    return { sql, apart, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }
  const stuck = (sql: Sql, key: number) => sql`select pg_advisory_xact_lock_shared(${key})`;
  /** Runs `work` while all that waits for `key` stands. */
  const whileHeld = (apart: Sql, key: number, work: () => Promise<void>) =>
    inTransaction(apart, async (tx) => {
      await tx`select pg_advisory_xact_lock(${key})`;
      await work();
    });
  const one = async (sql: Sql) => (await sql<{ n: number }[]>`select 1 as n`)[0]?.n;

  test('has a connection for the next account, however many statements of another one wait', async () => {
    await using pool = await open(3);
    const { sql, apart } = pool;
    let waiting: Promise<unknown> | undefined;
    await whileHeld(apart, 1, async () => {
      waiting = onBehalfOf('a', () => Promise.all(Array.from({ length: 8 }, () => stuck(sql, 1).execute())));
      const others = Array.from({ length: 6 }, (_, n) => onBehalfOf(`b${n}`, () => one(sql)));
      assert.deepEqual(await Promise.all(others), [1, 1, 1, 1, 1, 1]);
      assert.equal(await one(sql), 1, 'nor do strangers wait');
      assert.equal(await onBehalfOf('c', () => inTransaction(sql, (tx) => one(tx as Sql))), 1);
      assert.equal(await onBehalfOf('c', async () => (await sql.unsafe('select 1 as n'))[0]?.['n']), 1);
    });
    await waiting;
  });

  test('takes turns by account where all but one connection are taken for long', async () => {
    await using pool = await open(2);
    const { sql, apart } = pool;
    // Their connections are open: to open one takes as long as thirty statements.
    await Promise.all(['x', 'y', 'z'].map((each) => onBehalfOf(each, () => sql`select pg_sleep(0.1)`.execute())));
    let waiting: Promise<unknown> | undefined;
    await whileHeld(apart, 2, async () => {
      waiting = onBehalfOf('a', () => stuck(sql, 2).execute());
      const done: string[] = [];
      const ask = (account: string) =>
        onBehalfOf(account, async () => {
          await one(sql);
          done.push(account);
        });
      await Promise.all([...Array.from({ length: 100 }, () => ask('b')), ask('c')]);
      assert.ok(done.indexOf('c') <= 20, done.join(' '));
    });
    await waiting;
  });

  test('leaves one connection to an account whose statements took half of a minute, while others ask too', async () => {
    let now = 0;
    await using pool = await open(4, { monotonic: () => now });
    const { sql, apart } = pool;
    /** While others have two of the four: has three statements of an account stand on so many, and no more. */
    const standOn = async (wanted: number, account: string, key: number): Promise<void> => {
      let waiting: Promise<unknown> | undefined;
      await whileHeld(apart, key, async () => {
        const others = ['x', 'y'].map((other) => onBehalfOf(other, () => stuck(sql, key).execute()));
        const count = async () =>
          (await apart`select from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`).length;
        await until(async () => (await count()) === 2);
        const own = onBehalfOf(account, () => Promise.all([1, 2, 3].map(() => stuck(sql, key).execute())));
        waiting = Promise.all([...others, own]);
        await until(async () => (await count()) === 2 + wanted);
        assert.equal(await count(), 2 + wanted);
      });
      await waiting;
    };
    const long = async (account: string, key: number): Promise<void> => {
      let waiting: Promise<unknown> | undefined;
      await whileHeld(apart, key, async () => {
        waiting = onBehalfOf(account, () => stuck(sql, key).execute());
        await onBehalfOf('b', () => one(sql));
        now += 30_000;
      });
      await waiting;
      await onBehalfOf('b', () => one(sql));
    };
    await standOn(2, 'a', 11);
    // One statement may have waited for something, and counts for 5 s.
    await long('a', 12);
    await standOn(2, 'a', 13);
    now += 60_000;
    for (let n = 0; n < 6; n += 1) {
      await long('a', 20 + n);
      now -= 25_000;
    }
    await standOn(1, 'a', 30);
    await standOn(2, 'b', 31);
    now += 60_000;
    await standOn(2, 'a', 32);
  });

  test('lets a transaction ask besides, with all other connections taken', async () => {
    await using pool = await open(2);
    const { sql } = pool;
    const both = await onBehalfOf('a', () =>
      Promise.all(
        Array.from({ length: 20 }, () =>
          inTransaction(sql, async (tx) => [
            await one(tx as Sql),
            await one(sql),
            await inTransaction(sql, one as never),
          ]),
        ),
      ),
    );
    assert.deepEqual(new Set(both.flat()), new Set([1]));
  });

  test('takes a place back whatever becomes of the statement', async () => {
    await using pool = await open(2);
    const { sql } = pool;
    await onBehalfOf('a', async () => {
      for (let n = 0; n < 10; n += 1) {
        await assert.rejects(sql`select 1 / ${n - n}::int`, { code: '22012' });
        await assert.rejects(
          inTransaction(sql, (tx) => tx`select no_such`),
          { code: '42703' },
        );
        await assert.rejects(
          inTransaction(sql, () => Promise.reject(new Error('no'))),
          /^Error: no$/,
        );
      }
      const ended = sql`select pg_terminate_backend(pg_backend_pid())`;
      await assert.rejects(ended);
      await until(async () => (await one(sql).catch(() => 0)) === 1);
    });
  });
});

describe('requests that share the database', () => {
  const { gateway, apart } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const opened = opening.use(await openTest({ settings: { SVC_DATABASE_TIMEOUT_MS: '5000' } }));
    const sql = opening.adopt(openDatabase(opened.database.target, 1), (pool) => pool.end({ timeout: 1 }));
    const stack = opening.move();
    return { gateway: opened.gateway, apart: sql, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  test('of one account that wait for a row leave others as quick as they were', async () => {
    const [one, other] = [await createAccount(gateway), await createAccount(gateway)];
    const { body: session } = await http(gateway.url, '/v1/sessions', { method: 'POST', key: one.key, body: {} });
    const path = `/v1/sessions/${session.id}`;
    let patched: Promise<{ status: number }[]> | undefined;
    await inTransaction(apart, async (tx) => {
      await tx`select 1 from sessions.sessions where id = ${session.id} for update`;
      const patch = (n: number) =>
        http(gateway.url, path, { method: 'PATCH', key: one.key, body: { title: `title ${n}` } });
      patched = Promise.all(Array.from({ length: 12 }, (_, n) => patch(n)));
      await until(async () => (await waitingFor(gateway.kernel.sql)) > 0);
      const asked = Array.from({ length: 8 }, () => http(gateway.url, '/v1/sessions', { key: other.key }));
      assert.deepEqual(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]));
      const made = await http(gateway.url, '/v1/sessions', { method: 'POST', key: other.key, body: {} });
      assert.equal(made.status, 201);
      assert.equal((await http(gateway.url, '/health')).status, 200);
    });
    assert.deepEqual(new Set((await patched)?.map(({ status }) => status)), new Set([200]));
  });
});

/** How many statements of the requests' connections wait for a lock. */
async function waitingFor(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where wait_event_type = 'Lock' and application_name like 'svc requests%' and datname = current_database()`;
  return row?.n ?? 0;
}
