import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { until } from '../apps/server/src/testing.ts';
import { freePort, killAll, layCluster, noSandboxes, run, start, temporaryFolder } from './platform.ts';
import { readFileSync, rmSync } from 'node:fs';

const answers = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  );

describe('parts of the platform as processes of their own', () => {
  after(killAll);

  test('a gateway does nothing that is due by the clock; a worker does, serves no API, and has probes and metrics', async () => {
    await using folder = temporaryFolder();
    const dataDir = join(folder.path, 'data');
    layCluster(dataDir);
    const [port, other] = [await freePort(), await freePort()];
    const settings = {
      ...noSandboxes,
      SVC_DATA_DIR: dataDir,
      SVC_PORT: String(port),
      SVC_METRICS_PORT: String(port + 2),
    };
    const gateway = start(['up', '--only', 'gateway'], settings);
    const [, url = ''] = await gateway.printed(/svc is ready at (\S+)/);
    const key = readFileSync(join(dataDir, 'owner.key'), 'utf8').trim();
    const client = createClient({ baseUrl: url, apiKey: key });
    for (const path of ['/health', '/health/ready', '/metrics']) {
      assert.equal(await answers(`http://127.0.0.1:${port + 2}${path}`), 200, path);
    }

    const at = new Date(Date.now() + 1_000).toISOString();
    const schedule = await client.schedules.create({
      body: { name: 'soon', kind: 'shell', spec: { command: 'true' }, trigger: { type: 'at', at } },
    });
    const runs = async () => (await client.schedules.runs({ params: { id: schedule.id }, query: {} })).runs.length;
    // A ticker looks at least every second.
    await until(() => Date.now() > Date.parse(at) + 2_500);
    assert.equal(await runs(), 0);

    const workerSettings = {
      ...settings,
      SVC_PORT: String(other),
      SVC_METRICS_PORT: String(other + 2),
      SVC_METRICS_HOST: '0.0.0.0',
    };
    const worker = start(['up', '--only', 'worker'], workerSettings);
    await worker.printed(/svc worker runs, health and metrics at 0\.0\.0\.0:/);
    await until(async () => (await runs()) === 1);
    for (const path of ['/health', '/health/ready', '/metrics']) {
      assert.equal(await answers(`http://127.0.0.1:${other + 2}${path}`), 200, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${other + 2}/v1/keys`), 404);
    for (const none of [other, other + 1]) assert.equal(await answers(`http://127.0.0.1:${none}/health`), 0);

    const [far, probes] = [await freePort(), await freePort()];
    const relaySettings = { ...settings, SVC_PORT: String(far), SVC_METRICS_PORT: String(probes) };
    const relay = start(['up', '--only', 'relay'], relaySettings);
    await relay.printed(new RegExp(`svc relay runs at http://127\\.0\\.0\\.1:${far}/relay, health and metrics at `));
    for (const path of ['/health', '/health/ready']) {
      assert.equal(await answers(`http://127.0.0.1:${far}${path}`), 200, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${probes}/metrics`), 200);
    for (const path of ['/v1/keys', '/status', '/docs', '/']) {
      assert.equal(await answers(`http://127.0.0.1:${far}${path}`), 404, path);
    }
    assert.equal(await answers(`http://127.0.0.1:${far + 1}/`), 0);

    const shown = JSON.parse((await run(['status', '--json'], { SVC_DATA_DIR: dataDir })).stdout);
    assert.deepEqual(
      shown.processes.map(({ part, ready }: { part: string; ready: boolean }) => [part, ready]),
      [
        ['gateway', true],
        ['worker', true],
        ['relay', true],
      ],
    );

    // A worker hears of what gateways announce: nobody waits for it.
    const { id } = await client.keys.create({ body: { name: 'short' } });
    await client.keys.revoke({ params: { id } });
    assert.doesNotMatch(gateway.output(), /did not acknowledge/);
    assert.equal(await relay.end(), 0);
    assert.equal(await worker.end(), 0);

    // As on a machine with a disk of its own. A relay stores nothing.
    const mark = join(dataDir, 'blobs/data/store.id');
    rmSync(mark);
    const refused = await run(['up', '--only', 'worker'], workerSettings);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^svc: .*not the store that this database knows; give every part the same store, .*\n$/m,
    );
    assert.equal((await run(['storage', 'accept'], { SVC_DATA_DIR: dataDir })).code, 0);
    const accepted = start(['up', '--only', 'worker'], workerSettings);
    await accepted.printed(/svc worker runs/);
    assert.equal(await accepted.end(), 0);
    assert.equal(await gateway.end(), 0);
  });
});
