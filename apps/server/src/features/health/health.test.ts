import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { contract, type RouteOutput } from '@svc/contract';
import { testClock } from '../../kernel/base/clock.ts';
import { openTestPool, proxyDatabase } from '../../kernel/testing.ts';
import { asOwner, http, startGateway, type TestGateway, testDatabase, until } from '../../testing.ts';
import { version } from '../../kernel/base/version.ts';
import { probeProviders } from './health.jobs.ts';
import { shared } from '../../testing.shared.ts';

describe('health', () => {
  const { database: plain } = shared(() => openTestPool(1));
  let folder: string;
  let providersFile: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-health-'));
    providersFile = join(folder, 'providers.json');
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
  });
  const providers = (value: unknown): void =>
    writeFileSync(providersFile, typeof value === 'string' ? value : JSON.stringify(value));
  const get = (gateway: TestGateway, path: string) => http(gateway.url, path);

  test('live names every feature mounted, in no more than a record', async () => {
    await using gateway = await startGateway(plain);
    const { status, body } = await get(gateway, '/health');
    assert.equal(status, 200);
    assert.deepEqual(body, { ok: true, features: gateway.app.features.map(({ name }) => name), version });
    assert.ok(body.features.includes('hosts') && body.features.includes('keys'));
  });

  test('ready is 200 with every check well, and needs no key', async () => {
    await using gateway = await startGateway(plain);
    const { status, body } = await get(gateway, '/health/ready');
    assert.equal(status, 200);
    assert.deepEqual(body, {
      ok: true,
      checks: { db: { ok: true }, schema: { ok: true }, registry: { ok: true } },
      s1: { mode: 'off', ok: true, ms: 0 },
    });
  });

  test('without the database live answers, ready is a 503 with the record, and both recover', async () => {
    providers({ lanes: [{ id: 'one', kind: 'openai' }] });
    await using proxied = await proxyDatabase(plain);
    const { database, proxy } = proxied;
    await using gateway = await startGateway(database, { settings: { SVC_PROVIDERS: providersFile } });
    await proxy.cut();
    const { status, body } = await get(gateway, '/health/ready');
    assert.equal(status, 503);
    const record = contract.health.ready.answers.statuses[503]?.parse(body) as RouteOutput<
      typeof contract.health.ready
    >;
    assert.deepEqual([record.ok, record.checks.db.ok, record.checks.schema.ok], [false, false, false]);
    assert.deepEqual(record.checks.registry, { ok: true });
    assert.ok(record.checks.db.error);
    assert.doesNotMatch(JSON.stringify(body), /ENOENT|EPIPE|ECONN|CONNECTION|sock|\/tmp/);
    assert.equal((await get(gateway, '/health')).status, 200);
    const status200 = await get(gateway, '/status');
    assert.equal(status200.status, 200, 'the catalog is always listed');
    assert.deepEqual(
      status200.body.providers.map(({ id }: { id: string }) => id),
      ['one'],
    );
    await proxy.restore();
    await until(async () => (await get(gateway, '/health/ready')).status === 200);
  });

  test('a database that hangs is not ready within its 2 s', async () => {
    // Its own: a gateway that left without its database would be waited for, by a clock that stands still.
    await using open = new AsyncDisposableStack();
    const { database, proxy } = await proxyDatabase(open.use(await testDatabase()));
    const clock = testClock();
    const gateway = await startGateway(database, { clock });
    open.defer(async () => {
      await proxy.cut();
      await proxy.restore();
      await gateway.close();
      await proxy.close();
    });
    proxy.freeze();
    let answered: Awaited<ReturnType<typeof get>> | undefined;
    let turned = 0;
    void get(gateway, '/health/ready').then((answer) => (answered = answer));
    await until(() => {
      if (answered) return true;
      clock.advance(100);
      turned += 100;
      return false;
    });
    assert.deepEqual([answered?.status, answered?.body.checks.db.ok], [503, false]);
    assert.ok(turned >= 2_000, `${turned} ms of the clock`);
    assert.equal((await get(gateway, '/health')).status, 200);
  });

  test('ready is 503 when a migration of this version is missing, and when the key look-up would fail', async () => {
    await using own = await testDatabase();
    await using gateway = await startGateway(own);
    const change = (text: string) => asOwner(own, (sql) => sql.unsafe(text));
    await change(`update kernel.migrations set name = 'x' || name where name like '0004%'`);
    const missing = await get(gateway, '/health/ready');
    assert.deepEqual([missing.status, missing.body.checks.db.ok, missing.body.checks.schema.ok], [503, true, false]);
    await change(`update kernel.migrations set name = substr(name, 2) where name like 'x%'`);
    await change('alter table keys.keys rename column hash to hash2');
    const broken = await get(gateway, '/health/ready');
    assert.deepEqual([broken.status, broken.body.checks.db.ok, broken.body.checks.schema.ok], [503, false, true]);
    assert.doesNotMatch(JSON.stringify(broken.body), /hash|column|relation/);
  });

  test('a providers file that is missing or broken makes ready 503 and status not ok, nothing else', async () => {
    await using gateway = await startGateway(plain, {
      settings: { SVC_PROVIDERS: providersFile, SVC_LOG_LEVEL: 'silent' },
    });
    rmSync(providersFile, { force: true });
    const broken = ['{', '[]', '{"lanes":[{}]}', '{"lanes":[{"id":"a","kind":"b","base_url":"nowhere"}]}', 'null'];
    for (const text of [undefined, ...broken]) {
      if (text !== undefined) providers(text);
      const { status, body } = await get(gateway, '/health/ready');
      assert.deepEqual([status, body.checks.db.ok, body.checks.registry.ok], [503, true, false], text ?? 'no file');
      assert.ok(!JSON.stringify(body).includes(folder));
      const catalog = await get(gateway, '/status');
      assert.deepEqual([catalog.status, catalog.body.ok], [200, false]);
      assert.deepEqual(catalog.body.aliases, ['svc', 'svc-fast', 'svc-embed']);
    }
    providers({});
    assert.equal((await get(gateway, '/health/ready')).status, 200);
  });

  test('status lists the aliases and the configured providers with what the last probe found', async (t) => {
    const server = createServer((request, response) => response.writeHead(request.url === '/well' ? 401 : 503).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    providers({
      lanes: [
        { id: 'well', kind: 'openai', label: 'Well', base_url: `${base}/well`, api_key: 'secret-of-the-provider' },
        { id: 'ill', kind: 'openai', base_url: `${base}/ill` },
      ],
      search: [{ id: 'gone', kind: 'searx', base_url: 'http://127.0.0.1:1' }],
      mail: [{ id: 'unprobed', kind: 'smtp' }],
    });
    await using gateway = await startGateway(plain, { settings: { SVC_PROVIDERS: providersFile } });
    const catalog = async () => (await get(gateway, '/status')).body;
    assert.ok(
      (await catalog()).providers.every(({ healthy }: { healthy: boolean }) => healthy),
      'before any probe',
    );
    await probeProviders.run(gateway.kernel);
    assert.deepEqual(await catalog(), {
      ok: true,
      aliases: ['svc', 'svc-fast', 'svc-embed'],
      providers: [
        { id: 'well', kind: 'openai', label: 'Well', healthy: true },
        { id: 'ill', kind: 'openai', label: 'ill', healthy: false },
        { id: 'gone', kind: 'searx', label: 'gone', healthy: false },
        { id: 'unprobed', kind: 'smtp', label: 'unprobed', healthy: true },
      ],
    });
    const text = JSON.stringify(await catalog());
    assert.ok(!text.includes('secret') && !text.includes(base));
  });
});
