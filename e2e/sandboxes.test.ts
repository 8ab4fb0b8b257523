import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hangMs, until } from '../apps/server/src/testing.ts';
import type { Json } from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { killAll } from './platform.ts';
import {
  instanceOf,
  processesOf,
  type SandboxPlatform,
  startSandboxPlatform,
  straysOf,
  withoutSandboxes as skip,
} from './sandboxes.ts';

/** Sandboxes that are made and destroyed; `SVC_TEST_CYCLES=200` for more. */
const cycles = Number(process.env['SVC_TEST_CYCLES'] ?? 4);
const leastTtlSeconds = 60;

const plot = `
import pandas as pd, matplotlib.pyplot as plt
frame = pd.DataFrame({'luna': ['ian', 'feb', 'mar'], 'vânzări': [3, 1, 2]})
frame.plot.bar(x='luna'); plt.title('Vânzări')
int(frame['vânzări'].sum())`;

describe('sandboxes of the platform as a person runs it', { skip }, () => {
  let p: SandboxPlatform;
  let expiring: { box: Json; instance: string }[];

  before(async () => {
    p = await startSandboxPlatform();
    // They live as long as a sandbox lives at least; what becomes of them is looked at later.
    expiring = await Promise.all(
      ['v1', 'v2'].map(async (backend) => {
        const box = await p.create({ backend, ttl_seconds: leastTtlSeconds });
        await p.exec(box, 'nohup setsid sleep 86397 > /dev/null 2>&1 &');
        return { box, instance: instanceOf(p.nodeDir, box.id) };
      }),
    );
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  test('a plot is drawn, the sandbox sleeps and wakes, is forked, and the plot is downloaded by its link', async () => {
    const box = await p.create();
    const drawn = await p.cell(box, plot);
    assert.deepEqual([drawn.result, drawn.error, drawn.images.length], ['6', null, 1]);
    assert.equal((await p.ok('POST', `/v1/sandboxes/${box.id}/pause`)).status, 'paused');
    const resumed = await p.ok('POST', `/v1/sandboxes/${box.id}/resume`);
    assert.deepEqual([resumed.status, resumed.restored], ['running', true]);
    assert.equal((await p.cell(box, 'list(frame["luna"])')).result, "['ian', 'feb', 'mar']");

    const forked = await p.ok('POST', `/v1/sandboxes/${box.id}/fork`, { count: 3 });
    for (const [n, child] of forked.data.entries()) {
      assert.equal(child.restored, true, JSON.stringify(child));
      assert.equal((await p.cell(child, `mine = int(frame["vânzări"].iloc[${n}]); mine`)).result, String([3, 1, 2][n]));
      assert.equal((await p.exec(child, `ls ${drawn.images[0]}`)).exit_code, 0);
    }
    assert.equal((await p.cell(box, '"mine" in globals()')).result, 'False');

    const { data } = await p.ok('GET', `/v1/sandboxes/${box.id}/artifacts`);
    assert.deepEqual([data.length, data[0].mime, data[0].scan], [1, 'image/png', 'clean']);
    const picture = await fetch(data[0].url);
    assert.equal(picture.status, 200);
    const bytes = Buffer.from(await picture.arrayBuffer());
    assert.deepEqual(bytes.subarray(0, 8), Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    assert.equal(bytes.length, data[0].bytes);
    for (const { id } of [box, ...forked.data]) await p.ok('DELETE', `/v1/sandboxes/${id}`);
  });

  test(`${cycles} sandboxes made and destroyed leave nothing on the machine`, {
    timeout: 600_000 + 30_000 * cycles,
  }, async () => {
    for (let cycle = 0; cycle < cycles; cycle++) {
      const backend = cycle % 2 === 0 ? 'v2' : 'v1';
      const command = { shell: 'sleep 86396 & echo $((6*7)) | tee out/n', timeout_seconds: 60 };
      if (cycle % 5 === 4) {
        const ran = await p.ok('POST', '/v1/sandboxes/run', {
          backend,
          ...command,
          shell: `mkdir -p out; ${command.shell}`,
        });
        assert.deepEqual([ran.stdout, ran.artifacts.length], ['42\n', 1], JSON.stringify(ran));
        continue;
      }
      const box = await p.create({ backend });
      assert.equal((await p.exec(box, { ...command, shell: `mkdir -p out; ${command.shell}` })).stdout, '42\n');
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    }
    // The store fills up meanwhile: what is made for it belongs to nobody for a moment.
    let strays: Record<string, number> = {};
    await until(() => {
      strays = straysOf(p.nodeDir);
      return Object.values(strays).every((count) => count === 0);
    }).catch(() => assert.fail(JSON.stringify(strays)));
  });

  test('a sandbox ends with its time: its processes are gone within 5 s, and it says that it expired', async () => {
    for (const { box, instance } of expiring) {
      const due = Date.parse(box.expires_at);
      if (Date.now() < due - 5_000) assert.ok(processesOf(instance) > 0, `${box.backend} ended before its time`);
      await until(() => Date.now() > due && processesOf(instance) === 0, due - Date.now() + hangMs);
      await until(async () => (await p.ok('GET', `/v1/sandboxes/${box.id}`)).status === 'expired');
      const refused = await p.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' });
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'sandbox_not_running']);
    }
  });
});
