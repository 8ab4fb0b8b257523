import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { asOwner, openTest, testDatabase, until } from '../../testing.ts';
import { randomOf, suiteSeed } from '../../testing.random.ts';
import { shared } from '../../testing.shared.ts';
import { inTransaction, openDatabase } from '../db/db.ts';
import { type Change, findHolder, tidyFeed } from './feed.ts';
import { trimChanges } from './feed.store.ts';
import { followAccount, storedIds } from './feed.testing.ts';

const change = (accountId: string, id: string, more: Partial<Change> = {}): Change => ({
  accountId,
  topic: 'prompts',
  op: 'updated',
  id,
  ...more,
});

describe('feed', () => {
  const { database, gateway: a, second: b } = shared(() => openTest({ gateways: 2 }));
  const record = (accountId: string, ...ids: string[]) =>
    inTransaction(a.kernel.sql, (tx) =>
      a.kernel.feed.record(
        tx,
        ids.map((id) => change(accountId, id)),
      ),
    );
  const list = (
    accountId: string,
    after?: string,
    more: { limit?: number; waitMs?: number; signal?: AbortSignal } = {},
  ) =>
    b.kernel.feed.list({
      accountId,
      after,
      topics: new Set(['prompts']),
      limit: 100,
      waitMs: 0,
      signal: new AbortController().signal,
      ...more,
    });
  /** What is behind a cursor; an older transaction of a ticker may hold it back for some milliseconds. */
  const next = (accountId: string, after: string, more: { limit?: number } = {}) =>
    list(accountId, after, { waitMs: 60_000, ...more });
  const idsOf = (changes: readonly { id: string }[]) => changes.map(({ id }) => id);

  test('changes reach every follower of the account on every gateway in one order, and no other account', async () => {
    const [account, other] = [randomUUID(), randomUUID()];
    const followers = await Promise.all([a, b, a].map(({ kernel }) => followAccount(kernel, account)));
    const stranger = await followAccount(b.kernel, other);
    const writers = Array.from({ length: 20 }, async (_, n) => {
      for (let m = 0; m < 5; m += 1) await record(account, `${n}.${m}`, `${n}.${m}'`);
    });
    await Promise.all(writers);
    await until(() => followers.every(({ changes }) => changes.length === 200));
    const stored = await storedIds(a.kernel, account);
    for (const { changes } of followers) assert.deepEqual(idsOf(changes), stored);
    assert.deepEqual(stranger.changes, []);
  });

  test('what a transaction takes back is not told, and nothing is committed whose change cannot be written', async () => {
    const account = randomUUID();
    const follower = await followAccount(a.kernel, account);
    await assert.rejects(
      inTransaction(a.kernel.sql, async (tx) => {
        await a.kernel.feed.record(tx, [change(account, 'taken back')]);
        throw new Error('no');
      }),
    );
    const failing = inTransaction(a.kernel.sql, async (tx) => {
      await tx`insert into kernel.facts (name, value) values (${account}, 'x')`;
      await a.kernel.feed.record(tx, [change(account, 'x', { op: 'vanished' as 'deleted' })]);
    });
    await assert.rejects(failing, /check constraint/);
    assert.equal((await a.kernel.sql`select 1 from kernel.facts where name = ${account}`).length, 0);
    await record(account, 'last');
    await until(() => follower.changes.length > 0);
    assert.deepEqual(idsOf(follower.changes), ['last']);
  });

  test('who comes back with a cursor gets what came since, whichever follower gave it, and then what comes', async () => {
    const account = randomUUID();
    const first = await followAccount(a.kernel, account);
    await record(account, '1', '2');
    await record(account, '3');
    await until(() => first.changes.length === 3);
    const at = first.changes[0]?.cursor as string;
    const back = await followAccount(b.kernel, account, at);
    assert.deepEqual(back.ready, { cursor: at, missed: false });
    await record(account, '4');
    await until(() => back.changes.length === 3);
    assert.deepEqual(idsOf(back.changes), ['2', '3', '4']);
    const page = await next(account, first.ready.cursor, { limit: 2 });
    assert.deepEqual([idsOf(page.changes), page.missed], [['1', '2'], false]);
    assert.deepEqual(idsOf((await next(account, page.cursor)).changes), ['3', '4']);
  });

  test('10,000 changes while away come in order, to a stream and in pages', async () => {
    const account = randomUUID();
    const { cursor } = await list(account);
    for (let n = 0; n < 20; n += 1)
      await record(account, ...Array.from({ length: 500 }, (_, m) => String(500 * n + m)));
    const back = await followAccount(b.kernel, account, cursor);
    await until(() => back.changes.length === 10_000);
    const all: string[] = [];
    for (let at = cursor; all.length < 10_000; ) {
      const page = await next(account, at, { limit: 500 });
      all.push(...idsOf(page.changes));
      at = page.cursor;
    }
    const expected = Array.from({ length: 10_000 }, (_, n) => String(n));
    assert.deepEqual([idsOf(back.changes), all], [expected, expected]);
  });

  test('a rare topic behind thousands of changes comes at once, and what was looked at is not looked at again', async () => {
    const account = randomUUID();
    const { cursor } = await list(account);
    const busy = (of: string, count: number) => a.kernel.sql`
      insert into kernel.changes (account_id, topic, op, subject, body)
      select ${account}, 'sessions', 'updated', ${of} || n, '{"text": "long"}' from generate_series(1, ${count}) n`;
    await busy('before', 24_000);
    await record(account, 'rare');
    await busy('between', 3_000);
    await record(account, 'rarer');
    await busy('after', 500);
    const follower = await followAccount(b.kernel, account, cursor, ['prompts']);
    const page = await next(account, cursor, { limit: 1 });
    const second = await next(account, page.cursor, { limit: 1 });
    assert.deepEqual([idsOf(page.changes), idsOf(second.changes)], [['rare'], ['rarer']]);
    await until(async () => {
      const end = await list(account, second.cursor, { limit: 1 });
      assert.deepEqual(end.changes, []);
      return end.cursor === (await list(account)).cursor;
    });
    await until(() => follower.changes.length === 2);
    assert.deepEqual(idsOf(follower.changes), ['rare', 'rarer']);
  });

  test('a reader that is gone is not read for', async () => {
    const account = randomUUID();
    const { cursor } = await list(account);
    await a.kernel.sql`
      insert into kernel.changes (account_id, topic, op, subject)
      select ${account}, 'sessions', 'updated', n from generate_series(1, 2000) n`;
    // Other suites write into the same Postgres: their transactions may be older than this one.
    await until(async () => (await list(account, cursor)).cursor !== cursor);
    const page = await list(account, cursor, { signal: AbortSignal.abort(), waitMs: 60_000 });
    const rest = await list(account, page.cursor);
    assert.deepEqual([page.changes, rest.changes], [[], []]);
    assert.equal(new Set([cursor, page.cursor, rest.cursor]).size, 3);
  });

  test('a change behind an older open transaction is told when that one is over, and the transaction is named', async () => {
    const account = randomUUID();
    const follower = await followAccount(b.kernel, account);
    const older = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const held = inTransaction(a.kernel.sql, async (tx) => {
      await tx`select pg_current_xact_id()`;
      begun.resolve();
      await older.promise;
      await a.kernel.feed.record(tx, [change(account, 'older')]);
    });
    await begun.promise;
    await record(account, 'newer');
    assert.match((await findHolder(a.kernel.sql))?.name ?? '', /svc.*idle in transaction/);
    assert.deepEqual([(await list(account)).changes, follower.changes], [[], []]);
    older.resolve();
    await held;
    await until(() => follower.changes.length === 2);
    assert.deepEqual(idsOf(follower.changes), ['older', 'newer']);
  });

  test('an open transaction of another database of the server holds nothing back', async () => {
    const account = randomUUID();
    await using elsewhere = await testDatabase();
    const sql = openDatabase(elsewhere.target, 1);
    const follower = await followAccount(b.kernel, account);
    await inTransaction(sql, async (tx) => {
      await tx`select pg_current_xact_id()`;
      await record(account, 'told');
      await until(() => follower.changes.length === 1);
    });
    await sql.end();
  });

  test('a change whose wake was lost, as of a process that was killed after its commit, is told by the next look', async () => {
    const account = randomUUID();
    const follower = await followAccount(a.kernel, account);
    await a.kernel.sql`
      insert into kernel.changes (account_id, topic, op, subject) values (${account}, 'prompts', 'created', 'unsaid')`;
    await until(() => follower.changes.length === 1);
    assert.equal(follower.isOver, false);
  });

  test('a record of over 8,000 bytes is left out; its change is told', async () => {
    const account = randomUUID();
    const follower = await followAccount(a.kernel, account);
    await a.kernel.feed.record(a.kernel.sql, [
      change(account, 'long', { record: { text: 'x'.repeat(8_000) } }),
      change(account, 'short', { record: { text: 'ă\u0000', n: 1 } }),
    ]);
    await until(() => follower.changes.length === 2);
    assert.deepEqual(
      follower.changes.map(({ record: text }) => text),
      [undefined, '{"text":"ă\\u0000","n":1}'],
    );
  });

  test('a cursor that was just answered misses nothing, though the end of the feed steps back for an instant', async () => {
    const account = randomUUID();
    await record(account, 'one');
    const { cursor } = await next(account, await a.kernel.feed.end(account));
    await asOwner(database, async (sql) => {
      // As where another database's transaction ends in the instant of a look.
      await sql.unsafe(`
        create sequence kernel.looks;
        alter function kernel.feed_horizon() rename to real_horizon;
        create function kernel.feed_horizon() returns xid8 language sql security definer as
          $$ select case when nextval('kernel.looks') <= 2 then '3'::xid8 else kernel.real_horizon() end $$`);
      try {
        assert.equal((await list(account, cursor)).missed, false);
        const [looks] = await sql<{ n: number }[]>`select last_value as n from kernel.looks`;
        assert.ok(looks && looks.n > 2, 'it had stepped back');
      } finally {
        await sql.unsafe(`
          drop function kernel.feed_horizon();
          alter function kernel.real_horizon() rename to feed_horizon;
          drop sequence kernel.looks`);
      }
    });
  });

  test('a cursor that is too old, of the future or of another account begins now, and says that something was missed', async () => {
    const [account, other] = [randomUUID(), randomUUID()];
    const [start, before] = [(await list(account)).cursor, (await list(other)).cursor];
    await record(other, 'theirs');
    await record(account, '1', '2', '3');
    await Promise.all([next(other, before), next(account, start)]);
    const theirs = (await followAccount(a.kernel, other)).ready.cursor;
    const now = (await followAccount(a.kernel, account)).ready.cursor;
    const bytes = Buffer.from(now, 'base64url');
    bytes.writeBigUInt64BE(1n << 62n, 8);
    const future = bytes.toString('base64url');
    bytes.writeBigUInt64BE(0n, 8);
    bytes.writeBigUInt64BE(1n << 63n, 16);
    const tooHigh = bytes.toString('base64url');
    await trimChanges(a.kernel.sql, account, 1);
    for (const cursor of [theirs, future, tooHigh, start]) {
      const follower = await followAccount(b.kernel, account, cursor);
      assert.deepEqual(follower.ready, { cursor: now, missed: true });
      assert.deepEqual(await list(account, cursor), { changes: [], cursor: now, missed: true });
    }
    assert.deepEqual(await storedIds(a.kernel, account), ['3']);
    assert.equal((await list(account, now)).missed, false);
  });

  test('an account that is over its bound keeps the newest, by the number of their transactions', async () => {
    const account = randomUUID();
    for (const xid of ['9', '10', '100', '99'])
      await a.kernel.sql`
        insert into kernel.changes (account_id, xid, topic, op, subject)
        values (${account}, ${xid}::text::xid8, 'prompts', 'created', ${xid})`;
    await trimChanges(a.kernel.sql, account, 2);
    assert.deepEqual(await storedIds(a.kernel, account), ['99', '100']);
  });

  test('days that are past their week go, and an account whose changes are kept misses none', async () => {
    const [old, young] = [randomUUID(), randomUUID()];
    const [before, other] = [(await list(old)).cursor, (await list(young)).cursor];
    await record(young, 'kept');
    await a.kernel.sql`
      insert into kernel.changes (account_id, topic, op, subject, at)
      values (${old}, 'prompts', 'created', 'gone', now() - interval '9 days')`;
    await Promise.all([next(young, other), next(old, before)]);
    const last = (await followAccount(b.kernel, old)).ready.cursor;
    await tidyFeed(a.kernel.background);
    assert.equal((await list(old, before)).missed, true);
    assert.deepEqual(await list(old, last), { changes: [], cursor: last, missed: false });
    assert.deepEqual(idsOf((await next(young, other)).changes), ['kept']);
    const parts = await a.kernel.sql`select 1 from pg_inherits where inhparent = 'kernel.changes'::regclass`;
    assert.ok(parts.length >= 4);
  });

  test('a request waits for the first change of its topics, and is answered when its time is over', async () => {
    const account = randomUUID();
    const { cursor } = await list(account);
    const waiting = list(account, cursor, { waitMs: 60_000 });
    await a.kernel.feed.record(a.kernel.sql, [change(account, 'other', { topic: 'hosts' })]);
    await record(account, 'wanted');
    const page = await waiting;
    assert.deepEqual(idsOf(page.changes), ['wanted']);
    const empty = await list(account, page.cursor, { waitMs: 30 });
    assert.deepEqual(empty, { changes: [], cursor: page.cursor, missed: false });
  });

  test('no change is lost, doubled or out of order for any order of commits; without the horizon some are', async () => {
    const seed = suiteSeed;
    assert.deepEqual(await lostInRandomCommits(seed, 40), [], `SVC_TEST_SEED=${seed}`);
    await asOwner(
      database,
      (sql) => sql`
        create or replace function kernel.feed_horizon() returns xid8 language sql stable
          as $$ select '9223372036854775807'::xid8 $$`,
    );
    let isRed = false;
    for (let n = 0; n < 20 && !isRed; n += 1) isRed = (await lostInRandomCommits(seed + n, 40)).length > 0;
    assert.ok(isRed, 'a reader without the horizon misses a change of a transaction that commits late');
  });

  /** Transactions that are held open, committed and rolled back in a random order, and readers that come and go; answers faults. */
  async function lostInRandomCommits(seed: number, steps: number): Promise<string[]> {
    const account = randomUUID();
    const random = randomOf(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const sql = openDatabase(database.target, 6);
    const open: { end: (commit: boolean) => Promise<void> }[] = [];
    const start = (await list(account)).cursor;
    let cursor = start;
    const followers = [await followAccount(a.kernel, account)];
    const paged: string[] = [];
    const begin = async (name: string): Promise<void> => {
      const [begun, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
      const done = inTransaction(sql, async (tx) => {
        await tx`insert into kernel.changes (account_id, topic, op, subject) values (${account}, 'prompts', 'created', ${`${name}.0`})`;
        begun.resolve();
        if (!(await ending.promise)) throw new Error('rolled back');
        await a.kernel.feed.record(tx, [
          change(account, `${name}.1`),
          change(account, `${name}.2`, { topic: 'sessions' }),
        ]);
      }).catch((error: Error) => assert.equal(error.message, 'rolled back'));
      await begun.promise;
      open.push({
        async end(commit) {
          ending.resolve(commit);
          await done;
        },
      });
    };
    for (let n = 0; n < steps || open.length > 0; n += 1) {
      const act = random();
      if (n < steps && open.length < 5 && act < 0.4) await begin(String(n));
      else if (open.length > 0 && act < 0.8)
        await open.splice(Math.floor(random() * open.length), 1)[0]?.end(random() < 0.8);
      else if (act < 0.9) {
        const page = await list(account, cursor, { limit: 3 });
        paged.push(...idsOf(page.changes));
        cursor = page.cursor;
      } else followers.push(await followAccount(pick([a, b]).kernel, account, start));
    }
    const stored = await storedIds(a.kernel, account);
    for (let page = await list(account, cursor); page.changes.length > 0; page = await list(account, cursor)) {
      paged.push(...idsOf(page.changes));
      cursor = page.cursor;
    }
    await record(account, 'end');
    await until(() => followers.every(({ changes }) => changes.at(-1)?.id === 'end'));
    const told = followers.map(({ changes }) => idsOf(changes).slice(0, -1));
    for (const follower of followers) follower.end();
    await sql.end();
    const prompts = stored.filter((id) => !id.endsWith('.2'));
    const pairs = [[paged, prompts], ...told.map((ids) => [ids, stored])].map((pair) => pair.map(String));
    return pairs.filter(([got, due]) => got !== due).map(([got, due]) => `${got} in place of ${due}`);
  }
});
