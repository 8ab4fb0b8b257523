import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lockHolder, takeLock } from './lock.ts';
import { processStart } from './processes.ts';

const lockModule = new URL('lock.ts', import.meta.url).href;

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-lock-'));
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** A process that takes the lock at `path`, says so, and lives on. */
function holder(t: TestContext, path: string) {
  const script = `
    import { takeLock } from ${JSON.stringify(lockModule)};
    const { lock, holder } = await takeLock(${JSON.stringify(path)});
    console.log(lock ? 'held' : 'held by ' + holder);
    if (lock) setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return { child, said: once(child.stdout, 'data').then(([data]) => String(data).trim()) };
}

test('a process that got the number of a dead holder does not hold its lock', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  t.after(() => other.kill('SIGKILL'));
  const pid = other.pid ?? 0;
  const started = processStart(pid);
  await writeFile(path, JSON.stringify({ pid, started }));
  assert.deepEqual(await takeLock(path), { holder: pid });
  assert.equal(await lockHolder(path), pid);
  await writeFile(path, JSON.stringify({ pid, started: `${started}1` }));
  assert.equal(await lockHolder(path), undefined);
  (await takeLock(path)).lock?.release();
  await assert.rejects(readFile(path), { code: 'ENOENT' });
});

test('a damaged lock file does not keep the daemon from starting', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  await writeFile(path, '');
  const { lock } = await takeLock(path);
  assert.ok(lock);
  lock.release();
});

test('a damaged lock file is left alone until it is as old as the caller says', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  await writeFile(path, '');
  assert.deepEqual(await takeLock(path, 60_000), { holder: undefined });
  const old = new Date(Date.now() - 61_000);
  await utimes(path, old, old);
  const { lock } = await takeLock(path, 60_000);
  assert.ok(lock);
  lock.release();
});

test('a lock file with nothing but a pid is held while that process lives', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  await writeFile(path, String(process.pid));
  assert.deepEqual(await takeLock(path), { holder: process.pid });
});

test('of many processes that find the same stale lock exactly one gets it', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const directory = await temporaryDirectory(t);
    const path = join(directory, 'lock');
    await writeFile(path, JSON.stringify({ pid: 1, started: 'before' }));
    const contenders = Array.from({ length: 6 }, () => holder(t, path));
    const said = await Promise.all(contenders.map((contender) => contender.said));
    assert.equal(said.filter((text) => text === 'held').length, 1, said.join('; '));
    // A contender that lost removes its helper file before it says so.
    assert.equal((await readdir(directory)).length, 1);
    for (const { child } of contenders) child.kill('SIGKILL');
  }
});

test('a lock that was given back while its folder could not be reached is free once it can be', async (t) => {
  const directory = await temporaryDirectory(t);
  const [folder, away] = [join(directory, 'folder'), join(directory, 'away')];
  await mkdir(folder);
  const path = join(folder, 'lock');
  const { lock } = await takeLock(path);
  await rename(folder, away);
  await writeFile(folder, '');
  assert.throws(() => lock?.release(), { code: 'ENOTDIR' });
  await rm(folder);
  await rename(away, folder);
  const again = await takeLock(path);
  assert.ok(again.lock);
  assert.deepEqual(await takeLock(path), { holder: process.pid });
  again.lock.release();
});

test('releasing a lock that was taken over leaves the new one', async (t) => {
  const path = join(await temporaryDirectory(t), 'lock');
  const { lock } = await takeLock(path);
  await writeFile(path, 'someone else');
  lock?.release();
  assert.equal(await readFile(path, 'utf8'), 'someone else');
});

test('whoever takes a lock removes what killed processes left of theirs, and nothing that one writes now', async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'lock');
  const old = new Date(Date.now() - 120_000);
  const left = [`lock.${randomUUID()}.tmp`, `lock.${'a'.repeat(16)}`, `lock.${'a'.repeat(16)}.${randomUUID()}.tmp`];
  const others = ['lock.md', `locks.${randomUUID()}.tmp`, `lock.${randomUUID()}.tmp`];
  for (const name of [...left, ...others]) await writeFile(join(directory, name), '{}');
  for (const name of [...left, ...others.slice(0, 2)]) await utimes(join(directory, name), old, old);
  const { lock } = await takeLock(path);
  assert.deepEqual((await readdir(directory)).toSorted(), ['lock', ...others].toSorted());
  lock?.release();
});
