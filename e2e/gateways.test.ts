import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, type Platform, run, start, startPlatform, temporaryFolder } from './platform.ts';

/** Each takes 2 s; `SVC_TEST_KILLS=200` for more. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);

describe('two gateway processes on one database', () => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let a: Platform;
  let b: Platform;
  let key: string;

  before(async () => {
    a = await startPlatform(dataDir, await freePort());
    b = await startPlatform(dataDir, await freePort());
    key = a.key;
  });
  after(async () => {
    await a.end();
    await b.end();
    killAll();
    await folder.remove();
  });

  test('a key revoked on one is refused by the other on the next request', async () => {
    const owner = createClient({ baseUrl: a.url, apiKey: key });
    for (let i = 0; i < 25; i++) {
      const created = await owner.keys.create({ body: { name: `n${i}` } });
      const theirs = createClient({ baseUrl: b.url, apiKey: created.key });
      await theirs.devices.list();
      await owner.keys.revoke({ params: { id: created.id } });
      await assert.rejects(theirs.devices.list(), { status: 401, code: 'invalid_api_key' });
    }
  });

  test('a daemon on one gateway runs what is asked of the other, and moves when its gateway is killed', async () => {
    const environment = (platform: Platform) => ({ SVC_API_KEY: key, SVC_BASE_URL: platform.url });
    const daemon = start(
      ['host', 'run', '--state-dir', join(folder.path, 'host'), '--name', 'box', '--allow-shell'],
      environment(b),
    );
    await daemon.printed(/connected as box/);
    const ran = await run(['host', 'exec', 'box', '--', 'echo across'], environment(a));
    assert.deepEqual([ran.code, ran.stdout], [0, 'across\n']);

    const begun = join(folder.path, 'begun');
    const pending = run(['host', 'exec', 'box', '--', `touch '${begun}'; sleep 600`], environment(a));
    await until(() => existsSync(begun));
    await b.end('SIGKILL');
    const broken = await pending;
    assert.equal(broken.code, 125);
    b = await startPlatform(dataDir, b.port);
    for (;;) {
      const again = await run(['host', 'exec', 'box', '--', 'echo moved'], environment(a));
      if (again.code === 0) {
        assert.equal(again.stdout, 'moved\n');
        break;
      }
    }
    assert.equal(await daemon.end(), 0);
  });
});

describe('kill -9 at random instants', () => {
  const folder = temporaryFolder();
  after(async () => {
    killAll();
    await folder.remove();
  });

  test(`a key whose creation was acknowledged is never lost, over ${kills} kills`, {
    timeout: 60_000 + 30_000 * kills,
  }, async () => {
    const dataDir = join(folder.path, 'data');
    const port = await freePort();
    let platform = await startPlatform(dataDir, port);
    const { key } = platform;
    const acknowledged: string[] = [];
    for (let round = 0; round < kills; round++) {
      const client = createClient({ baseUrl: platform.url, apiKey: key });
      let killer: NodeJS.Timeout | undefined;
      for (;;) {
        const created = await client.keys.create({ body: { name: `r${round}` } }).catch(() => undefined);
        if (!created) break;
        acknowledged.push(created.id);
        killer ??= setTimeout(() => platform.process.kill('SIGKILL'), Math.random() * 300);
      }
      clearTimeout(killer);
      platform = await startPlatform(dataDir, port);
    }
    const { keys } = await createClient({ baseUrl: platform.url, apiKey: key }).keys.list();
    const kept = new Set(keys.map((entry) => entry.id));
    assert.deepEqual(
      acknowledged.filter((id) => !kept.has(id)),
      [],
    );
    assert.ok(acknowledged.length >= kills);
    await platform.end();
  });
});
