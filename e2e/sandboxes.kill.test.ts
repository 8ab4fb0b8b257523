import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { HttpAnswer } from '../apps/server/src/testing.ts';
import { until } from '../apps/server/src/testing.ts';
import type { Json } from '../apps/server/src/features/sandboxes/sandboxes.testing.ts';
import { killAll } from './platform.ts';
import {
  instanceOf,
  processesOf,
  type SandboxPlatform,
  shimOf,
  startSandboxPlatform,
  withoutSandboxes as skip,
} from './sandboxes.ts';

/** A node that was killed is started again after a while, which doubles with each time. */
const backMs = 120_000;

describe('sandboxes through kill -9', { skip }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform();
  });
  beforeEach(() => p.clear());
  after(async () => {
    await p?.close();
    killAll();
  });

  /** A sandbox of each backend, with something in it to lose. */
  async function two(): Promise<Json[]> {
    const boxes = await Promise.all(['v1', 'v2'].map((backend) => p.create({ backend })));
    for (const box of boxes) {
      await p.cell(box, 'kept = list(range(5))');
      await p.exec(box, 'echo file > kept; nohup setsid sleep 86395 > /dev/null 2>&1 & echo $! > pid');
    }
    return boxes;
  }

  /** Begins a command that goes on; `ended` settles when its answer does, whatever that is. */
  async function begin(box: Json): Promise<{ ended: Promise<HttpAnswer | undefined> }> {
    const command = { shell: 'touch begun; sleep 600', timeout_seconds: 600 };
    const ended = p.call('POST', `/v1/sandboxes/${box.id}/exec`, command).catch(() => undefined);
    await until(async () => (await p.call('GET', `/v1/sandboxes/${box.id}/files/begun`)).status === 200);
    return { ended };
  }

  /** Waits until the sandbox takes a command, and looks whether it is the one from before. */
  async function survived(box: Json): Promise<void> {
    let last: HttpAnswer | undefined;
    await until(async () => {
      last = await p
        .call('POST', `/v1/sandboxes/${box.id}/exec`, {
          shell: 'kill -0 $(cat pid) && cat kept; pgrep -fx "sleep 600"',
        })
        .catch(() => undefined);
      return last?.status === 200;
    }, backMs).catch(() => assert.fail(`${box.backend}: ${JSON.stringify(last?.body)}`));
    assert.equal(last?.body.stdout, 'file\n', `${box.backend}: ${JSON.stringify(last?.body)}`);
    assert.equal((await p.cell(box, 'kept')).result, '[0, 1, 2, 3, 4]');
  }

  test('of the node agent, in the middle of a command: the caller hears of it, and the sandboxes go on', async () => {
    const boxes = await two();
    const paused = await p.create({ backend: 'v2' });
    await p.cell(paused, 'kept = "asleep"');
    await p.ok('POST', `/v1/sandboxes/${paused.id}/pause`);
    const running = await Promise.all(boxes.map(begin));
    const node = p.nodePid();
    process.kill(node, 'SIGKILL');
    for (const { ended } of running) assert.notEqual((await ended)?.status, 200);
    for (const box of boxes) await survived(box);
    assert.notEqual(p.nodePid(), node);
    const resumed = await p.ok('POST', `/v1/sandboxes/${paused.id}/resume`);
    assert.equal(resumed.restored, true);
    assert.equal((await p.cell(paused, 'kept')).result, "'asleep'");
  });

  test('of the node agent, in the middle of a pause: the sandbox is running or paused, with all that it had', async () => {
    const box = await p.create({ backend: 'v2' });
    await p.cell(box, 'import os; memory = os.urandom(200 << 20); kept = list(range(5))');
    await p.exec(box, 'echo file > kept; nohup setsid sleep 86395 > /dev/null 2>&1 & echo $! > pid');
    const instance = instanceOf(p.nodeDir, box.id);
    const snapshots = join(p.nodeDir, 'snapshots');
    const answer = p.call('POST', `/v1/sandboxes/${box.id}/pause`).catch(() => undefined);
    await until(() => existsSync(snapshots) && readdirSync(snapshots).some((name) => name.startsWith(instance)));
    process.kill(p.nodePid(), 'SIGKILL');
    await answer;
    let status = '';
    await until(async () => {
      const resumed = await p.call('POST', `/v1/sandboxes/${box.id}/resume`).catch(() => undefined);
      status = `${resumed?.status} ${JSON.stringify(resumed?.body)}`;
      if (resumed?.status === 200) assert.equal(resumed.body.restored, true);
      const ran = await p.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'true' }).catch(() => undefined);
      return ran?.status === 200;
    }, backMs).catch(() => assert.fail(status));
    await survived(box);
  });

  test('of a shim: its sandbox is stopped and leaves no process, and nobody else notices', async () => {
    const boxes = await two();
    const other = await p.create({ backend: 'v2' });
    for (const box of boxes) {
      const instance = instanceOf(p.nodeDir, box.id);
      assert.ok(processesOf(instance) > 0);
      const { ended } = await begin(box);
      process.kill(shimOf(p.nodeDir, box.id), 'SIGKILL');
      assert.notEqual((await ended)?.status, 200);
      await until(() => processesOf(instance) === 0);
      await until(async () => (await p.ok('GET', `/v1/sandboxes/${box.id}`)).status === 'stopped', backMs);
      const refused = await p.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'id' });
      assert.deepEqual([refused.status, refused.body.error.code], [409, 'sandbox_not_running']);
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    }
    assert.equal((await p.exec(other, 'echo well')).stdout, 'well\n');
    assert.equal((await p.exec(await p.create({ backend: 'v2' }), 'echo next')).stdout, 'next\n');
  });

  test('of the gateway, in the middle of a command: the sandboxes go on, and the command is over', async () => {
    const boxes = await two();
    const running = await Promise.all(boxes.map(begin));
    await p.killGateway();
    for (const { ended } of running) assert.equal(await ended, undefined);
    for (const box of boxes) await survived(box);
  });
});
