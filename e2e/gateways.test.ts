import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, type Platform, run, start, startPlatform, temporaryFolder } from './platform.ts';

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
    for (let i = 0; i < 8; i++) {
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
    const owner = createClient({ baseUrl: a.url, apiKey: key });
    const { devices } = await owner.devices.list();
    const box = devices.find(({ name }) => name === 'box')?.id ?? assert.fail('no box');
    const body = { op: 'shell', args: { command: 'echo moved' } };
    await until(async () => {
      const again = await owner.hosts.exec({ params: { device_id: box }, body }).catch(() => undefined);
      return (again?.result as { stdout?: string } | undefined)?.stdout === 'moved\n';
    });
    assert.equal(await daemon.end(), 0);
  });
});
