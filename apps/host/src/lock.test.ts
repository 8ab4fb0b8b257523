import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acquireLock } from './lock.ts';
import { temporaryDirectory } from './testing.ts';

const lockModule = new URL('lock.ts', import.meta.url).href;

/** A process that takes the lock at `path`, says so, and lives on. */
function holder(t: TestContext, path: string) {
  const script = `
    import { acquireLock } from ${JSON.stringify(lockModule)};
    try { await acquireLock(${JSON.stringify(path)}); console.log('held'); setInterval(() => {}, 1000); }
    catch (error) { console.log(error.message); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return { child, said: once(child.stdout, 'data').then(([data]) => String(data).trim()) };
}

test('a lock is refused while another process holds it, naming that process, and free after kill -9', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  const { child, said } = holder(t, path);
  assert.equal(await said, 'held');
  await assert.rejects(acquireLock(path), { name: 'CommandError', message: new RegExp(`pid ${child.pid}\\b`) });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = await acquireLock(path);
  assert.equal(JSON.parse(await readFile(path, 'utf8')).pid, process.pid);
  lock.release();
  assert.deepEqual(await readdir(join(path, '..')), []);
});
