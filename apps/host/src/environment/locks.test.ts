import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory, until } from '../testing.ts';
import { holdNamed } from './lock-files.ts';
import { createLockScan } from './locks.ts';

const module = new URL('lock-files.ts', import.meta.url).href;
const never = new AbortController().signal;

/** A process that takes the lock `name`, says so, and lives on. */
async function holder(t: TestContext, stateDir: string, name: string): Promise<ChildProcess> {
  const script = `import { holdNamed } from ${JSON.stringify(module)};
    await holdNamed(${JSON.stringify(name)}, { stateDir: ${JSON.stringify(stateDir)}, onWait: () => {}, signal: new AbortController().signal });
    console.log('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

for (const flock of ['flock', 'a lock file where there is no flock']) {
  test(`a named lock, by ${flock}, is held by one, says by whom and since when, and is free once its holder was killed`, async (t) => {
    const { PATH } = process.env;
    if (flock !== 'flock') process.env['PATH'] = '/nowhere';
    t.after(() => void (process.env['PATH'] = PATH));
    const stateDir = await temporaryDirectory(t);
    const scan = createLockScan({ stateDir, home: stateDir, files: { locked: [], made: [] } });
    const before = Date.now();
    const child = await holder(t, stateDir, 'deploy');
    const [held, ...more] = await scan.look([]);
    assert.equal(more.length, 0);
    assert.deepEqual([held?.name, held?.holder?.endsWith(`(pid ${child.pid})`)], ['deploy', true]);
    assert.ok((held?.since ?? 0) >= before && (held?.since ?? 0) <= Date.now());
    const told: (string | undefined)[] = [];
    const leave = new AbortController();
    const left = holdNamed('deploy', { stateDir, onWait: () => leave.abort(), signal: leave.signal });
    assert.equal(await left, undefined);
    const waiting = holdNamed('deploy', { stateDir, onWait: (who) => told.push(who), signal: never });
    await until(() => told.length > 0, 'it waits');
    assert.deepEqual(told, [held?.holder]);
    child.kill('SIGKILL');
    const ours = await waiting;
    const [now] = await scan.look([]);
    assert.ok(now?.holder?.endsWith(`(pid ${process.pid})`));
    await ours?.release();
    assert.deepEqual(await scan.look([]), []);
  });
}

test("git's lock is held while its file is there, a package manager's while its file is locked", async (t) => {
  const root = await temporaryDirectory(t);
  const locked = join(root, 'lock-frontend');
  await writeFile(locked, '');
  await mkdir(join(root, '.git'));
  const scan = createLockScan({ stateDir: root, home: root, files: { locked: [['dpkg', locked]], made: [] } });
  assert.deepEqual(await scan.look([root]), []);
  await writeFile(join(root, '.git/index.lock'), '');
  const [git] = await scan.look([root]);
  assert.deepEqual([git?.name, git?.holder], [join(root, '.git/index.lock'), null]);
  await rm(join(root, '.git/index.lock'));
  const child = spawn('flock', [locked, 'sh', '-c', 'echo; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const [first] = await scan.look([root]);
  assert.match(String(first?.holder), new RegExp(`^\\w+ \\(pid \\d+\\)$`));
  assert.equal(first?.name, 'dpkg');
  assert.deepEqual(await scan.look([root]), [first]);
  child.stdin.end();
  await once(child, 'close');
  assert.deepEqual(await scan.look([root]), []);
});

test('a name that is no name of a file is refused', async (t) => {
  const stateDir = await temporaryDirectory(t);
  for (const name of ['', '../x', '.hidden', 'a/b', 'x'.repeat(65)]) {
    await assert.rejects(holdNamed(name, { stateDir, onWait: () => {}, signal: never }), { name: 'CommandError' });
  }
});
