import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { findPrompts } from '../prompts/prompts.summary.sql.ts';
import { asOwner, createAccount, http, openTest } from '../../testing.ts';

describe('overview', () => {
  const { gateway, database } = shared(() => openTest());
  const overview = async (key: string) => (await http(gateway.url, '/v1/overview', { key })).body;
  const monitor = async (key: string, name: string) => {
    const { body } = await http(gateway.url, '/v1/heartbeats', { key, body: { name, period_s: 3600 } });
    return { id: body.id as string, path: new URL(body.ping_url as string).pathname };
  };

  test('an account where nothing is wrong is told that, with counts of everything', async () => {
    const { key } = await createAccount(gateway);
    const { status, attention, counts, unavailable, recent, next } = await overview(key);
    assert.deepEqual([status, attention, unavailable, recent, next], ['ok', [], [], [], []]);
    assert.deepEqual(counts.heartbeats, { up: 0, late: 0, down: 0, paused: 0, new: 0 });
    assert.deepEqual(counts.machines, { online: 0, away: 0 });
  });

  test('a monitor that is down stands first, with the call that pauses it; that call takes it away', async () => {
    const { key } = await createAccount(gateway);
    const { id, path } = await monitor(key, 'Backup');
    await http(gateway.url, path);
    await http(gateway.url, `${path}/fail`);
    const { status, attention, counts } = await overview(key);
    const [item] = attention;
    assert.deepEqual([status, counts.heartbeats.down, item.id, item.kind], ['down', 1, id, 'heartbeat_down']);
    const [{ method, path: to, body }] = item.actions;
    assert.equal((await http(gateway.url, to, { key, method, body })).status, 200);
    const after = await overview(key);
    assert.deepEqual([after.status, after.counts.heartbeats.paused], ['ok', 1]);
  });

  test('a run that waits for a person shows its command, and its buttons decide it', async () => {
    const { key } = await createAccount(gateway);
    const made = await http(gateway.url, '/v1/schedules', {
      key,
      body: {
        name: 'Deploy',
        kind: 'shell',
        spec: { command: 'make deploy' },
        trigger: { type: 'interval', every_s: 3600 },
        policy: { approval: 'always' },
      },
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { run_id: run } = (await http(gateway.url, `/v1/schedules/${made.body.id}/run`, { key, method: 'POST' }))
      .body;
    const { attention, counts, next, recent } = await overview(key);
    const [item] = attention;
    assert.deepEqual(
      [
        counts.runs.awaiting_approval,
        item.id,
        item.kind,
        item.detail,
        item.actions.map(({ id }: { id: string }) => id),
      ],
      [1, run, 'run_approval', 'make deploy', ['approve', 'skip']],
    );
    assert.deepEqual([next[0].name, recent[0].id, recent[0].state], ['Deploy', run, 'awaiting_approval']);
    const skip = item.actions[1];
    const { status } = await http(gateway.url, skip.path, { key, method: skip.method, body: skip.body });
    assert.equal(status, 200);
    assert.equal((await overview(key)).counts.runs.awaiting_approval, 0);
  });

  test('a key is told the parts of the features that it may read, and finds nothing of others', async () => {
    const { key } = await createAccount(gateway);
    await monitor(key, 'Secret job');
    const weak = await http(gateway.url, '/v1/keys', {
      key,
      body: { name: 'w', scopes: ['overview:read', 'prompts:read'] },
    });
    const { counts } = await overview(weak.body.key);
    assert.deepEqual(Object.keys(counts), ['prompts']);
    const { results } = (await http(gateway.url, '/v1/overview/find?q=secret', { key: weak.body.key })).body;
    assert.deepEqual(results, []);
    assert.equal((await http(gateway.url, '/v1/overview/find?q=secret', { key })).body.results[0].title, 'Secret job');
  });

  test('finds names by a part in any case, those that begin with it first, and takes no wildcard', async () => {
    const { key } = await createAccount(gateway);
    for (const name of ['The backup', 'Backup of mail', 'Other']) await monitor(key, name);
    const find = async (query: string) =>
      (await http(gateway.url, `/v1/overview/find?${query}`, { key })).body.results.map(
        ({ title }: { title: string }) => title,
      );
    assert.deepEqual(await find('q=BACKUP'), ['Backup of mail', 'The backup']);
    assert.deepEqual(await find('q=%25'), []);
    assert.deepEqual(await find('q=backup&kinds=schedule'), []);
    assert.deepEqual(await find('q=backup&limit=1'), ['Backup of mail']);
  });

  test('finds among long texts by one look at each', async () => {
    const { id } = await createAccount(gateway);
    const count = 300;
    await gateway.kernel.sql`
      insert into prompts.prompts (account_id, prompt, source, state, bytes, text_hash, auto_run, created_at, updated_at)
      select ${id}, (select string_agg(md5(n::text || m), '') from generate_series(1, 300) m), 'hub', 'open', 9600,
        decode(md5(n::text), 'hex'), false, now(), now()
      from generate_series(1, ${count}::int) n`;
    const looks = await asOwner(database, (sql) =>
      sql.begin(async (tx) => {
        const read = async (): Promise<number> => {
          const [row] = await tx<{ n: number }[]>`
            select pg_stat_get_xact_tuples_fetched(i.indexrelid)::int as n from pg_class c join pg_index i on i.indrelid = c.reltoastrelid
            where c.oid = 'prompts.prompts'::regclass`;
          return row?.n ?? 0;
        };
        const before = await read();
        const wanted = { pattern: '%a%', prefix: 'a%', most: 20 };
        assert.equal((await findPrompts(tx, id, wanted)).length, wanted.most);
        return (await read()) - before;
      }),
    );
    assert.ok(looks >= count && looks < 2 * count, `${looks} looks`);
  });

  test('counts and finds the machines of the list, and no device that is none', async () => {
    const { key } = await createAccount(gateway);
    const host = crypto.randomUUID();
    const named = (id: string, name: string) => ({ 'x-svc-device': id, 'x-svc-device-name': name });
    await http(gateway.url, '/v1/keys', { key, headers: named(crypto.randomUUID(), 'Laptop phone') });
    await http(gateway.url, '/v1/scheduler/claim', { key, headers: named(host, 'Laptop'), body: { wait_s: 0 } });
    assert.deepEqual((await overview(key)).counts.machines, { online: 1, away: 0 });
    const { results } = (await http(gateway.url, '/v1/overview/find?q=laptop&kinds=machine', { key })).body;
    assert.deepEqual(
      results.map(({ id, href }: { id: string; href: string }) => [id, href]),
      [[host, `/machines/${host}`]],
    );
  });

  test('of one account nothing is told to another', async () => {
    const [mine, theirs] = [await createAccount(gateway), await createAccount(gateway)];
    const { path } = await monitor(theirs.key, 'Theirs');
    await http(gateway.url, `${path}/fail`);
    assert.equal((await overview(mine.key)).status, 'ok');
    assert.deepEqual((await http(gateway.url, '/v1/overview/find?q=theirs', { key: mine.key })).body.results, []);
  });

  test('a part that cannot be read is named, and the others stay', async () => {
    const { key } = await createAccount(gateway);
    await monitor(key, 'Here');
    await asOwner(database, (sql) => sql`alter table prompts.prompts rename to gone`);
    const { unavailable, counts } = await overview(key);
    await asOwner(database, (sql) => sql`alter table prompts.gone rename to prompts`);
    assert.deepEqual([unavailable, counts.heartbeats.new], [['prompts'], 1]);
  });
});
