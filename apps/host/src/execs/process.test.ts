import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isAlive, temporaryDirectory, until } from '../testing.ts';
import { filesOf, readEnd, removeFiles, startDetached } from './process.ts';

const pidIn = async (path: string) => Number(await readFile(path, 'utf8').catch(() => '0'));

/** Runs a command as nobody waits for it; answers how it ended, and where. */
async function run(t: TestContext, command: string, timeoutMs = 600_000, path = process.env['PATH'] ?? '') {
  const directory = await temporaryDirectory(t);
  const files = filesOf(join(directory, 'exec'));
  const env = { PATH: path };
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

test('what a command wrote last is kept on a machine that is slow to take it, whatever holds its output open', async (t) => {
  const tools = await temporaryDirectory(t);
  const real = process.env['PATH'] ?? '';
  // Each piece of the output is taken half a second late: longer than the background is waited for.
  const slow = `#!/bin/sh\nPATH='${real}'\ncase $1 in bs=65536) sleep 0.5 ;; esac\nexec dd "$@"\n`;
  await writeFile(join(tools, 'dd'), slow, { mode: 0o755 });
  const command = 'sleep 600 & echo $! > pid; printf %0150000d 7; echo end';
  const { directory, files, end } = await run(t, command, 600_000, `${tools}:${real}`);
  assert.deepEqual([end.code, end.truncated, isAlive(await pidIn(join(directory, 'pid')))], [0, false, true]);
  const output = await readFile(files.output, 'utf8');
  assert.deepEqual([output.length, output.slice(-5)], [150_004, '7end\n']);
});

test('a background that never stops writing does not hold up the answer', async (t) => {
  const { end, files } = await run(t, 'echo first; yes & echo $! > pid; exit 3');
  assert.deepEqual([end.code, end.truncated], [3, false]);
  assert.match(await readFile(files.output, 'utf8'), /^first\n/);
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
