import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { http, until } from '../apps/server/src/testing.ts';
import { freePort, killAll, run, startPlatform, temporaryFolder } from './platform.ts';
import { smallImages, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';

after(killAll);

const secret = { SVC_BACKUP_PASSPHRASE: 'correct horse battery staple' };

describe('sandboxes in a backup', { skip: withoutSandboxes }, () => {
  test('a paused one comes back with its memory, one that ran with its files, on a machine without images', async () => {
    await using folder = temporaryFolder();
    const file = join(folder.path, 'backup.tar.zst');
    const p = await startSandboxPlatform(0, { SVC_SANDBOX_IMAGES: smallImages(join(folder.path, 'images')) });
    const paused = await p.create();
    await p.cell(paused, 'kept = 6 * 7');
    await p.put(paused, '/workspace/notes.txt', 'written before');
    await p.ok('POST', `/v1/sandboxes/${paused.id}/pause`);
    const running = await p.create();
    await p.put(running, '/workspace/notes.txt', 'written while it ran');
    const { id: gone } = await p.create({ backend: 'v1' });
    try {
      const dataDir = join(p.nodeDir, '..');
      const made = await run(['backup', 'create', file, '--json', '--data-dir', dataDir], secret);
      assert.equal(made.code, 0, made.stderr);
      assert.equal(JSON.parse(made.stdout).sandboxes, 2);
      assert.deepEqual(JSON.parse(made.stdout).left_out, [`sandbox ${gone}: v1 sandboxes cannot be kept`]);
      // Both go on as before.
      assert.equal((await p.exec(running, { shell: 'cat notes.txt' })).stdout, 'written while it ran');
    } finally {
      await p.clear();
      await p.close();
    }
    const dataDir = join(folder.path, 'data');
    const restored = await run(['restore', file, '--json', '--data-dir', dataDir], secret);
    assert.equal(restored.code, 0, restored.stderr);
    assert.deepEqual(JSON.parse(restored.stdout).left_out, [`sandbox ${gone}: v1 sandboxes cannot be kept`]);
    // Its images are in its data dir alone: those that the backup brought.
    const again = await startPlatform(dataDir, await freePort(), { SVC_SANDBOX_WARM: '0' });
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await http(again.url, path, { key: p.key, method, ...(body && { body }) });
      assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)} ${again.output()}`);
      return answer.body;
    };
    try {
      // The node answers once it has taken in what the restore brought.
      let resumed = await http(again.url, `/v1/sandboxes/${paused.id}/resume`, { key: p.key, method: 'POST' });
      await until(async () => {
        if (resumed.status === 503)
          resumed = await http(again.url, `/v1/sandboxes/${paused.id}/resume`, { key: p.key, method: 'POST' });
        return resumed.status !== 503;
      });
      assert.equal(resumed.body.restored, true, JSON.stringify(resumed.body));
      const cell = await ask('POST', `/v1/sandboxes/${paused.id}/run_code`, { code: 'kept' });
      assert.equal(cell.result, '42');
      const said = await ask('POST', `/v1/sandboxes/${paused.id}/exec`, { shell: 'cat notes.txt' });
      assert.equal(said.stdout, 'written before');
      const cold = await ask('POST', `/v1/sandboxes/${running.id}/resume`);
      assert.equal(cold.restored, false);
      const read = await ask('POST', `/v1/sandboxes/${running.id}/exec`, { shell: 'cat notes.txt' });
      assert.equal(read.stdout, 'written while it ran');
    } finally {
      await again.end();
    }
  });
});
