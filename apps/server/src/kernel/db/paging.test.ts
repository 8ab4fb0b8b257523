import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { notify } from '../../features/notifications/index.ts';
import { clientOf, http, openHost, openTest } from '../../testing.ts';
import { shared } from '../../testing.shared.ts';

/** Lists with pages: where they are, what holds their rows. */
const lists = [
  { path: '/v1/keys', name: 'keys' },
  { path: '/v1/devices', name: 'devices' },
  { path: '/v1/heartbeats', name: 'heartbeats' },
  { path: '/v1/schedules', name: 'schedules' },
  { path: '/v1/scheduler/hosts', name: 'hosts' },
];

describe('pages of lists', () => {
  const t = shared(() => openTest());
  const get = (path: string) => http(t.gateway.url, path, { key: t.account.key });

  test('every page once, in the order of the whole, though rows share an instant and are less than a millisecond apart', async () => {
    const { sql } = t.gateway.kernel;
    const client = clientOf(t.gateway, t.account.key);
    for (let n = 0; n < 7; n++) {
      await client.keys.create({ body: { name: `key ${n}` } });
      await client.heartbeats.create({ body: { name: `monitor ${n}`, period_s: 60 } });
      const trigger = { type: 'interval' as const, every_s: 3600 };
      await client.schedules.create({
        body: { name: `schedule ${n}`, kind: 'http', spec: { method: 'GET', url: 'https://example.com' }, trigger },
      });
      const host = clientOf(t.gateway, t.account.key, randomUUID());
      await host.scheduler.claim({ body: { kinds: ['shell'] } });
    }
    const instants = db(sql);
    for (const table of ['keys.keys', 'heartbeats.monitors', 'schedules.schedules'])
      await instants(table, 'created_at');
    for (const table of ['devices.devices', 'scheduler.hosts']) await instants(table, 'last_seen');
    for (const { path, name } of lists) {
      const whole = (await get(path)).body;
      assert.equal(whole.next_cursor, undefined);
      const seen: Record<'id' | 'created_at' | 'last_seen', string>[] = [];
      let cursor: string | undefined;
      do {
        const query = cursor === undefined ? '' : `&cursor=${cursor}`;
        const { status, body } = await get(`${path}?limit=2${query}`);
        assert.equal(status, 200);
        assert.ok(body[name].length > 0 && body[name].length <= 2);
        seen.push(...body[name]);
        cursor = body.next_cursor;
      } while (cursor !== undefined);
      const ids = (rows: { id: string }[]): string[] => rows.map(({ id }) => id);
      assert.ok(seen.length >= 7, name);
      assert.deepEqual(ids(seen), ids(whole[name]), name);
      const at = seen.map((row) => Date.parse(row.last_seen ?? row.created_at));
      assert.deepEqual(
        at,
        at.toSorted((a, b) => b - a),
        `${name}, newest first`,
      );
    }
  });

  test('inboxes and sandboxes: every page once, the newest first, whatever comes between two pages', async () => {
    await using own = await openTest();
    const { gateway, account } = own;
    const { kernel } = gateway;
    const pagesOf = async (path: string, name: string, between: (n: number) => Promise<unknown>): Promise<string[]> => {
      const ids: string[] = [];
      let cursor = '';
      for (let n = 0; ; n++) {
        const { status, body } = await http(gateway.url, `${path}?limit=2${cursor}`, { key: account.key });
        assert.equal(status, 200);
        assert.ok(body[name].length <= 2);
        ids.push(...body[name].map(({ id }: { id: string }) => id));
        if (body.next_cursor === undefined) return ids;
        cursor = `&cursor=${body.next_cursor}`;
        await between(n);
      }
    };
    const whole = async (path: string, name: string): Promise<string[]> =>
      (await http(gateway.url, path, { key: account.key })).body[name].map(({ id }: { id: string }) => id);
    const tell = (dedupeKey: string) =>
      notify(kernel, kernel.sql, {
        accountId: account.id,
        dedupeKey,
        type: 'x',
        title: 'x',
        body: 'x',
        severity: 'info',
      });
    for (let n = 0; n < 5; n++) await tell(`${n}`);
    const inbox = await whole('/v1/notifications', 'notifications');
    assert.deepEqual(await pagesOf('/v1/notifications', 'notifications', (n) => tell(`later ${n}`)), inbox);

    const sandbox = async (state: string) =>
      (
        await kernel.sql<{ id: string }[]>`
          insert into sandboxes.sandboxes
            (id, account_id, key_id, state, backend, template, egress, metadata, created_at, expires_at)
          values (gen_random_uuid(), ${account.id}, ${account.keyId}, ${state}, 'v2', 'svc-base', '{"mode":"none"}', '{}',
            now(), now() + interval '1 hour') returning id`
      )[0]?.id as string;
    const made: string[] = [];
    for (const state of ['running', 'expired', 'running', 'stopped', 'expired', 'running'])
      made.push(await sandbox(state));
    const [a, b, c, d, e, f] = made as [string, string, string, string, string, string];
    assert.deepEqual(await whole('/v1/sandboxes', 'data'), [f, c, a, e, d, b]);
    assert.deepEqual(await pagesOf('/v1/sandboxes', 'data', () => sandbox('running')), [f, c, a, e, d, b]);
  });

  test('each record of a list answers by its id as the list has it, and what is no longer there with 404', async () => {
    await using own = await openTest();
    const { gateway, account } = own;
    const { kernel } = gateway;
    const ask = (path: string) => http(gateway.url, path, { key: account.key });
    const host = await openHost(gateway, account);
    await host.client.scheduler.claim({ body: { kinds: ['shell'] } });
    await host.client.heartbeats.create({ body: { name: 'monitor', period_s: 60 } });
    const told = { accountId: account.id, dedupeKey: 'x', type: 'x', title: 'x', body: 'x', severity: 'info' } as const;
    await notify(kernel, kernel.sql, told);
    for (const [path, name] of [
      ['/v1/keys', 'keys'],
      ['/v1/devices', 'devices'],
      ['/v1/heartbeats', 'heartbeats'],
      ['/v1/scheduler/hosts', 'hosts'],
      ['/v1/hosts', 'hosts'],
      ['/v1/notifications', 'notifications'],
    ] as const) {
      const [row] = (await ask(path)).body[name];
      const { status, body } = await ask(`${path}/${row.id ?? row.device_id}`);
      assert.equal(status, 200, path);
      assert.deepEqual(name === 'notifications' ? body.notification : body, row, path);
    }
    await kernel.sql`update hosts.presence set expires_at = now() - interval '1 second'`;
    assert.equal((await ask(`/v1/hosts/${host.deviceId}`)).status, 404);
    host.leave();
  });

  test('a page of schedules ends once its specs take 4 MiB, and the next one goes on', async () => {
    await using own = await openTest({ settings: { SVC_QUOTA_SCHEDULE_BYTES: '20000000' } });
    const client = clientOf(own.gateway, own.account.key);
    const body = 'x'.repeat(900_000);
    for (let n = 0; n < 12; n++) {
      const spec = { method: 'POST' as const, url: 'https://example.com', body };
      await client.schedules.create({
        body: { name: `${n}`, kind: 'http', spec, trigger: { type: 'event', trigger_id: 'never' } },
      });
    }
    const first = await client.schedules.list();
    assert.equal(first.schedules.length, 5);
    const second = await client.schedules.list({ query: { cursor: first.next_cursor } });
    const third = await client.schedules.list({ query: { cursor: second.next_cursor } });
    const names = [first, second, third].flatMap(({ schedules }) => schedules.map(({ name }) => name));
    assert.deepEqual(
      names,
      Array.from({ length: 12 }, (_, n) => `${11 - n}`),
    );
    assert.equal(third.next_cursor, undefined);
  });

  test('specs of an account take no more than its quota; shortening one is always allowed', async () => {
    await using own = await openTest({ settings: { SVC_QUOTA_SCHEDULE_BYTES: '2000' } });
    const client = clientOf(own.gateway, own.account.key);
    const spec = (length: number) => ({
      method: 'POST' as const,
      url: 'https://example.com',
      body: 'x'.repeat(length),
    });
    const schedule = (length: number) => ({
      name: 'long',
      kind: 'http' as const,
      spec: spec(length),
      trigger: { type: 'event' as const, trigger_id: 'never' },
    });
    const { id } = await client.schedules.create({ body: schedule(3_000) });
    const refusal = { status: 429, code: 'quota_exceeded', message: /2000 bytes in the specs of its schedules/ };
    await assert.rejects(client.schedules.create({ body: schedule(1) }), refusal);
    await assert.rejects(client.schedules.update({ params: { id }, body: { spec: spec(4_000) } }), refusal);
    await client.schedules.update({ params: { id }, body: { spec: spec(1_000) } });
    await client.schedules.create({ body: schedule(1) });
  });

  test('400 for a cursor that no list has answered, and for a limit out of bounds', async () => {
    const text = (value: string): string => Buffer.from(value).toString('base64url');
    const id = randomUUID();
    const wrong = [
      'x',
      '',
      text('2026-01-01'),
      text(`2026-13-01 00:00:00+00 ${id}`),
      text(`now() ${id}`),
      text(`2026-02-30 00:00:00+00 ${id}`),
      text(`0000-01-01 00:00:00+00 ${id}`),
      text(`2026-01-30 00:00:00+00 ${'-'.repeat(36)}`),
      text(`2026-01-30 24:00:01+00 ${id}`),
      'x'.repeat(300),
    ];
    for (const { path } of lists) {
      for (const cursor of wrong) assert.equal((await get(`${path}?cursor=${cursor}`)).status, 400, cursor);
      for (const limit of ['0', '1001', '-1', 'x']) assert.equal((await get(`${path}?limit=${limit}`)).status, 400);
    }
    for (const path of ['/v1/notifications', '/v1/sandboxes']) {
      for (const cursor of [...wrong, '-1', '2.5', '1.', `1.${'9'.repeat(19)}`, '9'.repeat(19)])
        assert.equal((await get(`${path}?cursor=${cursor}`)).status, 400, cursor);
      for (const limit of ['0', '201', '-1', 'x']) assert.equal((await get(`${path}?limit=${limit}`)).status, 400);
    }
  });
});

/** Gives the rows of a table four instants, of two seconds, two of each a microsecond apart. */
const db = (sql: import('./db.ts').Sql) => (table: string, column: string) =>
  sql.unsafe(
    `update ${table} set ${column} = '2026-01-01 00:00:00.000001Z'::timestamptz
       + make_interval(secs => (ascii(right(id::text, 1)) % 2) * 0.000001 + (ascii(right(id::text, 1)) / 2) % 2)`,
  );
