import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hangMs, type TestDatabase, testDatabase, until } from '../../testing.ts';
import { inTransaction, onCommit, openDatabase } from './db.ts';
import { toApiError } from '../base/errors.ts';
import { proxyDatabase } from '../testing.ts';

describe('database', () => {
  let plain: TestDatabase;
  before(async () => {
    plain = await testDatabase();
  });
  after(() => plain.drop());

  test('a query made the moment a connection broke is answered, and the pool is well once the server is back', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    const sql = openDatabase(database.target, 1);
    t.after(() => sql.end({ timeout: 1 }).then(() => proxy.close()));
    const select = async (): Promise<string> => {
      try {
        await sql`select 1`;
        return 'ok';
      } catch (error) {
        return toApiError(error).code;
      }
    };
    for (let round = 0; round < 5; round++) {
      await until(async () => (await within(select())) === 'ok');
      await proxy.cut();
      const answers = [await within(select()), await within(select()), await within(select())];
      assert.deepEqual(answers, ['unavailable', 'unavailable', 'unavailable'], `round ${round}`);
      await proxy.restore();
    }
  });

  test('a transaction whose connection breaks fails, at a query, between two and at the commit, and nothing of it goes on', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    const sql = openDatabase(database.target, 1);
    t.after(() => sql.end({ timeout: 1 }).then(() => proxy.close()));
    await sql`create table if not exists broken (step text)`;
    for (const where of ['query', 'between', 'commit', 'caught']) {
      await until(async () => (await within(sql`select 1`.then(() => 'ok').catch(() => ''))) === 'ok');
      const transaction = inTransaction(sql, async (tx) => {
        await tx`insert into broken values (${where})`;
        if (where === 'query') {
          const sleeping = tx`select pg_sleep(600)`;
          setTimeout(() => void proxy.cut(), 50);
          await sleeping;
        } else {
          const sleeping = where === 'caught' ? tx`select pg_sleep(600)`.catch(() => {}) : undefined;
          await new Promise((resolve) => setTimeout(resolve, 50));
          await proxy.cut();
          await sleeping;
          await new Promise((resolve) => setTimeout(resolve, 50));
          if (where !== 'commit') await tx`insert into broken values (${`${where}: after`})`;
        }
      });
      const code = await within(transaction.then(String, (error: { code: string }) => error.code));
      assert.equal(toApiError({ code }).code, 'unavailable', where);
      await proxy.restore();
      // A statement that went to the next session would be there, outside of any transaction.
      await until(async () => (await within(sql`select 1`.then(() => 'ok').catch(() => ''))) === 'ok');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.deepEqual([...(await sql`select step from broken`)], []);
  });

  test('of two transactions that wait for each other the one that is undone can be sent again', () => {
    assert.equal(toApiError({ code: '40P01' }).code, 'unavailable');
  });

  test('what waits for a commit runs after it, never after a rollback, and at once outside a transaction', async () => {
    const sql = openDatabase(plain.target, 2);
    const ran: string[] = [];
    await inTransaction(sql, async (tx) => {
      await onCommit(tx, () => ran.push('committed'));
      await tx`select 1`;
      assert.deepEqual(ran, []);
    });
    await assert.rejects(
      inTransaction(sql, async (tx) => {
        await onCommit(tx, () => ran.push('rolled back'));
        await tx`select 1 / 0`;
      }),
    );
    await onCommit(sql, () => ran.push('at once'));
    assert.deepEqual(ran, ['committed', 'at once']);
    await sql.end({ timeout: 1 });
  });

  test('a transaction that begins behind many queries has its connection for itself, whatever their number', async (t) => {
    const sql = openDatabase(plain.target, 1);
    t.after(() => sql.end({ timeout: 1 }));
    await sql`create table if not exists alone (step text)`;
    for (let before = 90; before < 110; before++) {
      await sql`select ${'prepared'}::text as t`;
      const others = Array.from({ length: before }, () => sql`select ${'x'}::text as t`.execute());
      const failing = inTransaction(sql, async (tx) => {
        await tx`insert into alone values ('inside')`;
        throw new Error('on purpose');
      });
      // Asked after it, and no part of it.
      const outside = sql`insert into alone values (${before})`.execute();
      await assert.rejects(failing, /on purpose/, `behind ${before}`);
      await Promise.all([...others, outside]);
    }
    assert.equal((await sql`select 1 from alone where step <> 'inside'`).length, 20);
    assert.equal((await sql`select 1 from alone`).length, 20);
  });

  test('a server that says nothing is not waited for: the query fails, and the pool is well once it speaks', async (t) => {
    await using proxied = await proxyDatabase(plain);
    const sql = openDatabase(proxied.database.target, 2, { deadline: { statementMs: 100 } });
    t.after(() => sql.end({ timeout: 1 }));
    const select = () =>
      within(
        sql`select 1`.then(
          () => 'ok',
          (error) => toApiError(error).code,
        ),
      );
    // A busy machine may take longer than the deadline for the first one.
    await until(async () => (await select()) === 'ok');
    proxied.proxy.freeze();
    const answers = [
      select(),
      select(),
      within(inTransaction(sql, (tx) => tx`select 1`).then(String, (error) => toApiError(error).code)),
    ];
    assert.deepEqual(await Promise.all(answers), ['unavailable', 'unavailable', 'unavailable']);
    await proxied.proxy.restore();
    await until(async () => (await select()) === 'ok');
  });

  test('a statement past its deadline fails as unavailable, and what is idle for longer is left alone', async (t) => {
    const sql = openDatabase(plain.target, 1, { deadline: { statementMs: 100 } });
    t.after(() => sql.end({ timeout: 1 }));
    const pid = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid;
    // On a busy machine a connection may take longer than the deadline.
    const connected = () => until(() => pid().then(Boolean, () => false));
    await connected();
    await assert.rejects(sql`select pg_sleep(600)`, (error) => toApiError(error).code === 'unavailable');
    await connected();
    const before = await pid();
    // Longer than the 2.1 s after which a server that was asked is taken for dead.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    assert.equal(await pid(), before);
  });

  test('a connection that breaks while it is made fails its query, and ends no process', async (t) => {
    const { database, proxy } = await proxyDatabase(plain);
    t.after(() => proxy.close());
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    t.after(() => process.off('unhandledRejection', note));
    // Cut after 0, 1, 2, … of the packets that a new connection takes, until it lives to answer.
    for (let packets = 0, answered = false; !answered; packets++) {
      const sql = openDatabase(database.target, 1);
      proxy.cutAfter(packets);
      answered = await within(sql`select 1`.then(() => 'ok', String)).then((answer) => answer === 'ok');
      await proxy.cut();
      await sql.end({ timeout: 0 });
      await proxy.restore();
    }
    assert.deepEqual(unhandled, []);
  });

  test('arrays come and go as lists, with what is hard to write in them', async () => {
    const sql = openDatabase(plain.target, 1);
    const texts = ['', 'null', 'a,b', '{"}', '\\', 'ș', ' '];
    const [row] = await sql`
      select ${[...texts, null]}::text[] as texts, ${[[1], [2]]}::int[] as nested, ${[]}::uuid[] as none,
        ${[1, 2 ** 40]}::bigint[] as big, ${['2026-03-29T01:30:00.500Z']}::timestamptz[] as instants,
        array[true, false] as flags, array[1, null]::smallint[] as small`;
    assert.deepEqual(row, {
      texts: [...texts, null],
      nested: [[1], [2]],
      none: [],
      big: [1, 2 ** 40],
      instants: ['2026-03-29T01:30:00.500Z'],
      flags: [true, false],
      small: [1, null],
    });
    await assert.rejects(sql`select ${[undefined] as never}::text[]`, TypeError);
    await sql.end({ timeout: 1 });
  });

  test('bigints come as numbers, instants as RFC 3339 in UTC whatever the server thinks, JSON as values', async () => {
    const sql = openDatabase(plain.target, 1);
    const [row] = await sql`
      select 9007199254740991::bigint as big, '2026-03-29 03:30:00.5+02'::timestamptz as at, '{"a":[1]}'::jsonb as json,
        ${sql.json({ text: 'ș "quoted" \\ ' })}::jsonb as sent`;
    assert.deepEqual(row, {
      big: Number.MAX_SAFE_INTEGER,
      at: '2026-03-29T01:30:00.500Z',
      json: { a: [1] },
      sent: { text: 'ș "quoted" \\ ' },
    });
    await sql.end({ timeout: 1 });
  });
});

/** The answer, or `no answer` when none comes in time. */
async function within(answer: Promise<string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, hangMs, 'no answer');
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}
