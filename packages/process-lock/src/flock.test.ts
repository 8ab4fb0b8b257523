import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tryFlock } from './flock.ts';

test('a lock is gone with the process that held it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-lock-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'lock');
  const lock = await tryFlock(path);
  assert.ok(lock);
  assert.equal(await tryFlock(path), undefined);
  await lock.release();
  const script = `import { tryFlock } from ${JSON.stringify(join(import.meta.dirname, 'flock.ts'))};
    if (!(await tryFlock(${JSON.stringify(path)}))) process.exit(3);
    process.kill(process.pid, 'SIGKILL');`;
  assert.throws(() => execFileSync(process.execPath, ['--input-type=module', '-e', script]), { signal: 'SIGKILL' });
  let again = await tryFlock(path);
  for (let i = 0; !again && i < 100; i += 1) again = await tryFlock(path);
  assert.ok(again);
  await again.release();
});
