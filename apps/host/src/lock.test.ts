import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acquireLock, processStart } from './lock.ts';
import { temporaryDirectory, until } from './testing.ts';

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

test('a process that got the number of a dead holder does not hold its lock', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  t.after(() => other.kill('SIGKILL'));
  const pid = other.pid ?? 0;
  const started = processStart(pid);
  await writeFile(path, JSON.stringify({ pid, started }));
  await assert.rejects(acquireLock(path), /already runs/);
  await writeFile(path, JSON.stringify({ pid, started: `${started}1` }));
  (await acquireLock(path)).release();
});

test('a damaged lock file does not keep the daemon from starting', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  await writeFile(path, '');
  (await acquireLock(path)).release();
});

test('of many processes that find the same stale lock exactly one gets it', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const directory = await temporaryDirectory(t);
    const path = join(directory, 'lock');
    await writeFile(path, JSON.stringify({ pid: 1, started: 'before' }));
    const contenders = Array.from({ length: 6 }, () => holder(t, path));
    const said = await Promise.all(contenders.map((contender) => contender.said));
    assert.equal(said.filter((text) => text === 'held').length, 1, said.join('; '));
    await until(async () => (await readdir(directory)).length === 1, 'no helper file is left');
    for (const { child } of contenders) child.kill('SIGKILL');
  }
});

test('releasing a lock that was taken over leaves the new one', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  const lock = await acquireLock(path);
  await writeFile(path, 'someone else');
  lock.release();
  assert.equal(await readFile(path, 'utf8'), 'someone else');
});
