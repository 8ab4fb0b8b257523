import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { killAll } from './platform.ts';
import { type SandboxPlatform, startSandboxPlatform, withoutSandboxes } from './sandboxes.ts';

describe('settings of sandboxes, as code inside meets them', { skip: withoutSandboxes }, () => {
  let p: SandboxPlatform;
  before(async () => {
    p = await startSandboxPlatform(0, {
      SVC_SANDBOX_MEMORY_MB: '512',
      SVC_SANDBOX_CPUS: '2',
      SVC_SANDBOX_WORKSPACE_MB: '128',
      SVC_QUOTA_SANDBOX_MEMORY_MB: '1024',
    });
  });
  after(async () => {
    await p?.close();
    killAll();
  });

  for (const backend of ['v2', 'v1']) {
    test(`memory, cores and workspace on ${backend} are those of the settings, and each limit says its name`, async () => {
      const box = await p.create({ backend });
      const seen = await p.exec(box, { shell: "free -m | awk '/^Mem:/ { print $2 }'; nproc; echo $OMP_NUM_THREADS" });
      assert.equal(seen.stdout, '512\n2\n2\n');
      assert.equal((await p.cell(box, 'len(bytearray(300 * 2**20))')).result, `${300 * 2 ** 20}`);
      // Held until it is ended: what is given back at once may be taken between two looks at the processes.
      const hog = await p.cell(box, 'import time\nheld = bytearray(700 * 2**20)\ntime.sleep(60)');
      assert.match(hog.error.value, /512 MiB/);
      assert.equal((await p.exec(box, 'head -c 100M /dev/urandom > a')).exit_code, 0);
      const full = await p.call('POST', `/v1/sandboxes/${box.id}/exec`, { shell: 'head -c 100M /dev/urandom > b' });
      assert.deepEqual([full.status, full.body.error.code], [413, 'workspace_too_large']);
      assert.match(full.body.error.message, /^the workspace is over 128 MiB, or has over 200,000 files/);
      await p.ok('DELETE', `/v1/sandboxes/${box.id}`);
    });
  }

  test('as many run as the memory of the account is for', async () => {
    const boxes = [await p.create({ backend: 'v1' }), await p.create({ backend: 'v1' })];
    const { status, body } = await p.call('POST', '/v1/sandboxes', { backend: 'v1' });
    assert.deepEqual([status, body.error.code], [429, 'quota_exceeded']);
    for (const { id } of boxes) await p.ok('DELETE', `/v1/sandboxes/${id}`);
  });
});
