import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isAlive, temporaryDirectory, until } from '../testing.ts';
import { filesOf, readEnd, removeFiles, startDetached } from './process.ts';

const pidIn = async (path: string) => Number(await readFile(path, 'utf8').catch(() => '0'));

/** Runs a command as nobody waits for it; answers how it ended, and where. */
async function run(t: TestContext, command: string, timeoutMs = 600_000) {
  const directory = await temporaryDirectory(t);
  const files = filesOf(join(directory, 'exec'));
  const env = { PATH: process.env['PATH'] ?? '' };
  const shell = { file: '/bin/sh', args: ['-c', command], cwd: directory, env, input: undefined };
  const { leader, gone } = await startDetached(shell, files, timeoutMs, async () => {});
  t.after(() => {
    try {
      process.kill(-leader.pid, 'SIGKILL');
    } catch {
      // Nothing is left of it.
    }
  });
  await gone;
  return { directory, files, leader, end: await readEnd(files) };
}

test('what a command leaves in the background stays and writes on, and does not keep it from ending', async (t) => {
  const loop = 'trap "touch hurt" PIPE; until [ -e go ]; do echo more; sleep 0.02; done; touch written; exec sleep 600';
  const { directory, files, end } = await run(t, `(${loop}) & echo $! > pid; echo done; exit 3`);
  const pid = await pidIn(join(directory, 'pid'));
  assert.deepEqual([end.code, end.timedOut, end.endedProcesses, isAlive(pid)], [3, false, undefined, true]);
  assert.match(await readFile(files.output, 'utf8'), /done\n/);
  await removeFiles(files);
  await writeFile(join(directory, 'go'), '');
  await until(() => existsSync(join(directory, 'written')), 'it went on');
  assert.deepEqual(
    ['hurt', 'exec.out'].map((name) => existsSync(join(directory, name))),
    [false, false],
  );
  assert.equal(isAlive(pid), true);
});

test('nothing of svc stays where nothing is in the background', async (t) => {
  const { leader, files, end } = await run(t, 'echo out; exit 4');
  assert.deepEqual([end.code, await readFile(files.output, 'utf8')], [4, 'out\n']);
  await until(() => {
    try {
      return !process.kill(-leader.pid, 0);
    } catch {
      return true;
    }
  }, 'its group is empty');
});

test('its time ends all of a command, what ignores SIGTERM too, and how much that was is written down', async (t) => {
  // What is ignored stays so over exec: the three processes are the same ones from their start to their end.
  const stubborn = 'trap "" TERM; echo $$ > pid; exec sleep 600';
  const { directory, end } = await run(t, `sh -c '${stubborn}' & sleep 600; :`, 5_000);
  const pid = await pidIn(join(directory, 'pid'));
  await until(() => !isAlive(pid), 'the background is gone');
  assert.equal(end.timedOut, true);
  if (process.platform === 'linux') assert.equal(end.endedProcesses, 3);
});

test('a command starts although one that was killed whole has left its pipe', async (t) => {
  const { files } = await run(t, 'true');
  await writeFile(files.pipe, '');
  const directory = await temporaryDirectory(t);
  const shell = {
    file: '/bin/sh',
    args: ['-c', 'exit 5'],
    cwd: directory,
    env: { PATH: '/usr/bin:/bin' },
    input: undefined,
  };
  const { gone } = await startDetached(shell, files, 600_000, async () => {});
  await gone;
  assert.equal((await readEnd(files)).code, 5);
});
