import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount, until } from '../../../testing.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse('2026-03-02T10:00:00Z');
type Json = Awaited<ReturnType<typeof http>>['body'];

describe('heartbeats: lists, tags, pauses with an end, days and logs', () => {
  const clock = testClock(start);
  const { gateway } = shared(() => openTest({ clock }));

  /** An account with what a test does in it. */
  async function opened() {
    const account: TestAccount = await createAccount(gateway);
    const api = (method: string, path: string, body?: unknown) =>
      http(gateway.url, path, { method, key: account.key, ...(body !== undefined && { body }) });
    const create = async (name: string, body: object = {}) => {
      const made = await api('POST', '/v1/heartbeats', { name, period_s: 600, grace_s: 300, ...body });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      const { pathname } = new URL(made.body.ping_url);
      return { id: made.body.id as string, ping: (signal = '') => http(gateway.url, pathname + signal) };
    };
    const list = async (query: string): Promise<Json> => {
      const { status, body } = await api('GET', `/v1/heartbeats?${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    };
    const names = async (query: string) => (await list(query)).heartbeats.map(({ name }: Json) => name);
    const get = async (id: string, query = ''): Promise<Json> =>
      (await api('GET', `/v1/heartbeats/${id}${query}`)).body;
    const becomes = (id: string, status: string) => until(async () => (await get(id)).status === status);
    const log = async (id: string, query = ''): Promise<Json> =>
      (await api('GET', `/v1/heartbeats/${id}/log${query}`)).body;
    return { account, api, create, list, names, get, becomes, log };
  }

  test('by trouble: down, late, new, up, paused, and by name within each; page by page, of the instant of the first', async () => {
    const t = await opened();
    const [late, up] = [await t.create('b late'), await t.create('Up b', { period_s: 86_400 })];
    const [down, also] = [await t.create('z down'), await t.create('A down')];
    const turning = await t.create('up a', { period_s: 1_200 });
    await t.create('fresh', { period_s: 86_400 });
    const paused = await t.create('a paused');
    for (const { ping } of [late, up, turning]) await ping();
    for (const { ping } of [down, also]) await ping('/fail');
    await t.api('PATCH', `/v1/heartbeats/${paused.id}`, { paused: true });
    clock.leap(11 * minute);
    const all = ['A down', 'z down', 'b late', 'fresh', 'up a', 'Up b', 'a paused'];
    assert.deepEqual(await t.names('sort=trouble'), all);
    assert.deepEqual(await t.names('sort=name'), ['A down', 'a paused', 'b late', 'fresh', 'up a', 'Up b', 'z down']);
    const page = async (sort: string, limit: number, whenFirst?: () => void) => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const { heartbeats, next_cursor } = await t.list(`sort=${sort}&limit=${limit}${cursor}`);
        seen.push(...heartbeats.map(({ name }: Json) => name));
        if (next_cursor === undefined) return seen;
        if (cursor === '') whenFirst?.();
        cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
      }
    };
    for (const limit of [1, 3]) assert.deepEqual(await page('trouble', limit), all);
    assert.equal(new Set(await page('name', 2)).size, 7);
    // `up a` becomes late after the first page, and would stand before its cursor then.
    const seen = await page('trouble', 4, () => clock.leap(10 * minute));
    assert.deepEqual([...new Set(seen)].sort(), [...all].sort());
    assert.equal((await t.get(turning.id)).status, 'late');
  });

  test('a list is narrowed by name, status and tag, all together; a bad filter or cursor is a 400', async () => {
    const t = await opened();
    await t.create('Backup 100%', { tags: ['db', ' nightly '] });
    await t.create('backup_Țară', { tags: ['db'] });
    await t.create('import', { tags: ['nightly', 'nightly'] });
    const broken = await t.create('BACKUP broken');
    await broken.ping('/fail');
    assert.deepEqual(await t.names('q=backup&sort=name'), ['Backup 100%', 'BACKUP broken', 'backup_Țară']);
    assert.deepEqual(await t.names('q=%25'), ['Backup 100%']);
    assert.deepEqual(await t.names(`q=${encodeURIComponent('ȚARĂ')}`), ['backup_Țară']);
    assert.deepEqual(await t.names('status=down'), ['BACKUP broken']);
    assert.deepEqual(await t.names('status=down,new&tag=db&sort=name'), ['Backup 100%', 'backup_Țară']);
    assert.deepEqual(await t.names('tag=nightly&sort=name'), ['Backup 100%', 'import']);
    assert.deepEqual(await t.names('tag=night'), []);
    assert.deepEqual((await t.list('q=import')).heartbeats[0].tags, ['nightly']);
    const { next_cursor: byName } = await t.list('sort=name&limit=1');
    const { next_cursor: newest } = await t.list('limit=1');
    const forged = Buffer.from('["name","2026-01-01T00:00:00.000Z",0,"x\\u0000","x"]').toString('base64url');
    for (const bad of [
      'status=broken',
      'sort=age',
      `q=${'x'.repeat(101)}`,
      'tag=',
      `tag=${'x'.repeat(41)}`,
      'days=0',
      'days=91',
      'days=x',
      `sort=trouble&cursor=${byName}`,
      `sort=name&cursor=${newest}`,
      `cursor=${byName}`,
      `sort=name&cursor=${forged}`,
      'sort=name&cursor=W10',
    ]) {
      assert.equal((await t.api('GET', `/v1/heartbeats?${bad}`)).status, 400, bad);
    }
  });

  test('tags are replaced as a whole, trimmed, without repeats, and at most ten', async () => {
    const t = await opened();
    const { id } = await t.create('job', { tags: ['a'] });
    const patch = (tags: unknown) => t.api('PATCH', `/v1/heartbeats/${id}`, { tags });
    assert.deepEqual((await patch([' b ', 'c', 'b'])).body.tags, ['b', 'c']);
    assert.deepEqual((await t.get(id)).tags, ['b', 'c']);
    assert.deepEqual((await patch(null)).body.tags, []);
    for (const bad of [[''], ['  '], ['x'.repeat(41)], Array.from({ length: 11 }, (_, n) => `t${n}`), 'a', [1]]) {
      assert.equal((await patch(bad)).status, 400, JSON.stringify(bad));
    }
  });

  test('a pause with an end goes on by itself then; another pause, a success and `paused: false` end it before', async () => {
    const t = await opened();
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    const { id, ping } = await t.create('job');
    const patch = (body: object) => t.api('PATCH', `/v1/heartbeats/${id}`, body);
    const until_ = at(hour);
    const paused = (await patch({ paused_until: until_ })).body;
    assert.deepEqual([paused.status, paused.paused_until, paused.expected_at], ['paused', until_, undefined]);
    assert.equal((await patch({ paused: true, paused_until: at(2 * hour) })).body.paused_until, at(2 * hour));
    clock.leap(2 * hour - 1);
    assert.equal((await t.get(id)).status, 'paused');
    clock.leap(1);
    await t.becomes(id, 'new');
    const resumed = await t.get(id);
    assert.equal(resumed.paused_until, undefined);
    assert.equal(Date.parse(resumed.expected_at), clock.now() + 10 * minute, 'it counts from the end of the pause');
    const end = { paused_until: at(hour) };
    await patch(end);
    await ping();
    assert.deepEqual([(await t.get(id)).status, (await t.get(id)).paused_until], ['up', undefined]);
    await patch(end);
    assert.deepEqual(
      [(await patch({ paused: false })).body.status, (await t.get(id)).paused_until],
      ['new', undefined],
    );
    for (const without of [{ paused: true }, { paused_until: null }]) {
      await patch(end);
      const kept = (await patch(without)).body;
      assert.deepEqual([kept.status, kept.paused_until], ['paused', undefined]);
    }
    clock.leap(day);
    assert.equal((await t.get(id)).status, 'paused');
    for (const bad of [
      { paused_until: at(0) },
      { paused_until: at(-1) },
      { paused_until: at(367 * day) },
      { paused_until: 'tomorrow' },
      { paused: false, paused_until: at(hour) },
    ]) {
      assert.equal((await patch(bad)).status, 400, JSON.stringify(bad));
    }
  });

  test('a record says by when a success is expected, and since when it is down', async () => {
    const t = await opened();
    const { id, ping } = await t.create('job');
    const at = new Date(clock.now()).toISOString();
    assert.equal(Date.parse((await t.get(id)).expected_at), clock.now() + 10 * minute);
    await ping('/fail');
    const down = await t.get(id);
    assert.deepEqual([down.status, down.down_since, down.expected_at], ['down', at, undefined]);
    clock.leap(minute);
    await ping('/fail');
    assert.equal((await t.get(id)).down_since, at, 'a further failure is the same outage');
    await ping();
    const up = await t.get(id);
    assert.deepEqual([up.status, up.down_since], ['up', undefined]);
    assert.equal(Date.parse(up.expected_at), clock.now() + 10 * minute);
  });

  test('a log has pings and changes of status, newest first and page by page; late is told once it is over', async () => {
    const t = await opened();
    const { id, ping } = await t.create('job');
    await ping();
    const lateAt = new Date(clock.now() + 10 * minute).toISOString();
    clock.leap(12 * minute);
    await ping();
    clock.leap(15 * minute);
    await t.becomes(id, 'down');
    clock.leap(1);
    await ping('/log');
    const short = ({ kind, ping: own, from, to }: Json) => (kind === 'ping' ? own.kind : `${from}-${to}`);
    const { log: entries } = await t.log(id);
    assert.deepEqual(entries.map(short), [
      'log',
      'late-down',
      'up-late',
      'late-up',
      'success',
      'up-late',
      'new-up',
      'success',
    ]);
    assert.equal(entries[5].at, lateAt);
    const seen: Json[] = [];
    for (let query = '?limit=3'; ; ) {
      const { log, next_cursor } = await t.log(id, query);
      seen.push(...log);
      if (next_cursor === undefined) break;
      query = `?limit=3&cursor=${next_cursor}`;
    }
    assert.deepEqual(seen, entries);
    for (const bad of ['?limit=0', '?limit=201', '?cursor=x', '?cursor=W10']) {
      assert.equal((await t.api('GET', `/v1/heartbeats/${id}/log${bad}`)).status, 400, bad);
    }
    const other = await opened();
    assert.equal((await other.api('GET', `/v1/heartbeats/${id}/log`)).status, 404);
  });

  test('each day has the letter of its worst state, in UTC; what is late now counts from when it began', async () => {
    const t = await opened();
    // A monitor of before, of which nothing is known until now.
    clock.leap(day - (clock.now() % day) + 10 * hour);
    const { id, ping } = await t.create('job', { period_s: 86_400, grace_s: 604_800 });
    const days = async (n: number) => {
      const own = (await t.get(id, `?days=${n}`)).days;
      assert.equal(
        (await t.list(`days=${n}`)).heartbeats[0].days,
        own,
        'the list and the monitor by its id say the same',
      );
      return own;
    };
    assert.equal(await days(3), 'nnn');
    await ping();
    assert.equal(await days(3), 'nnu');
    clock.leap(2 * day + hour);
    // Expected at 10:00 of yesterday.
    assert.equal(await days(4), 'null');
    await ping();
    assert.equal(await days(4), 'null');
    clock.leap(day - hour);
    await ping('/fail');
    await ping();
    assert.equal(await days(3), 'lld');
    await t.api('PATCH', `/v1/heartbeats/${id}`, { paused: true });
    clock.leap(2 * day);
    assert.equal(await days(5), 'lldpp');
    assert.equal(await days(1), 'p');
    assert.equal((await t.list('')).heartbeats[0].days, undefined);
    assert.equal((await days(90)).length, 90);
  });

  test('changes of status are kept for 100 days, and the last 1,000 of a monitor', async () => {
    const t = await opened();
    const { id, ping } = await t.create('job');
    const { sql, clock: time } = gateway.kernel;
    const count = async () =>
      (await sql<{ n: number }[]>`select count(*)::int as n from heartbeats.flips where monitor_id = ${id}`)[0]?.n;
    const before = new Date(time.now() - 3 * day).toISOString();
    await sql`update heartbeats.monitors set flip_seq = 1098, known_since = ${before} where id = ${id}`;
    await sql`
      insert into heartbeats.flips (monitor_id, seq, at, was, became)
      select ${id}, n, ${new Date(time.now() - 2 * day).toISOString()}::timestamptz + n * interval '1 second', 'up', 'down'
      from generate_series(1, 1098) n`;
    await ping();
    assert.equal(await count(), 1_099);
    await ping('/fail');
    assert.equal(await count(), 1_000);
    assert.equal((await t.get(id, '?days=4')).days, 'nddd', 'nothing is known of before what is kept');
    clock.leap(101 * day);
    const sweep = gateway.app.jobs.find(({ name }) => name === 'heartbeats.sweep');
    await sweep?.run(gateway.kernel);
    assert.equal(await count(), 0);
    assert.equal((await t.get(id, '?days=2')).days, 'dd');
  });

  test('a list of 10,000 monitors is one query, in pages', async () => {
    const t = await opened();
    await gateway.kernel.sql`
      insert into heartbeats.monitors (account_id, name, period_s, grace_s, token_hash, status, armed_at, last_success_at,
        created_at, updated_at, known_since)
      select ${t.account.id}, 'job ' || n, 60, 60, sha256(('many' || n)::bytea), 'up', at, at, at, at, at
      from generate_series(1, 10000) n, (select ${new Date(clock.now() - (minute * 3) / 2).toISOString()}::timestamptz as at) a`;
    const { heartbeats, next_cursor } = await t.list('sort=trouble&q=JOB&status=late,down&days=90');
    assert.equal(heartbeats.length, 200);
    const { heartbeats: next } = await t.list(`sort=trouble&q=JOB&status=late,down&days=90&cursor=${next_cursor}`);
    assert.equal(new Set([...heartbeats, ...next].map(({ id }: Json) => id)).size, 400);
  });
});
