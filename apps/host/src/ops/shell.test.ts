import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HostOpResult } from '@svc/contract';
import { withoutKey } from '../config.ts';
import { createProcessGroups } from '../groups.ts';
import { contextOf, isAlive, resultOf, temporaryDirectory, until } from '../testing.ts';
import { testKey } from '../testing.gateway.ts';
import type { OpContext } from './op.ts';
import { shell } from './shell.ts';

type Result = HostOpResult<'shell'>;

async function run(test: TestContext, args: object, changes: Partial<OpContext> = {}): Promise<Result> {
  const root = await temporaryDirectory(test);
  return resultOf('shell', args, contextOf(root, changes));
}

/** A command that starts a grandchild which ignores SIGTERM, writes its pid to `pid` and goes on for ever. */
const stubborn = `bash -c 'trap "" TERM; echo $$ > pid; while :; do sleep 1; done' & wait`;

async function pidIn(root: string): Promise<number> {
  let pid = 0;
  await until(async () => {
    pid = Number(await readFile(join(root, 'pid'), 'utf8').catch(() => '0'));
    return pid > 0;
  }, 'the grandchild wrote its pid');
  return pid;
}

test('a command answers its exit code and both streams', async (t) => {
  const result = await run(t, { command: 'echo out; echo err >&2; exit 7' });
  assert.deepEqual(result, { exit_code: 7, stdout: 'out\n', stderr: 'err\n', timed_out: false, truncated: false });
});

test('null for an argument that may be left out is as good as leaving it out, for one that must be there it is refused', async (t) => {
  const { stdout } = await run(t, { command: 'echo out', cwd: null, env: null, timeout_ms: null });
  assert.equal(stdout, 'out\n');
  await assert.rejects(run(t, { command: null }), { message: /^bad_args: command: / });
});

test('a command ended by signal n answers 128+n', async (t) => {
  assert.equal((await run(t, { command: 'kill -9 $$' })).exit_code, 137);
});

test('standard input is empty', async (t) => {
  assert.equal((await run(t, { command: 'cat; echo end' })).stdout, 'end\n');
});

test('on timeout the whole process group dies, a grandchild that ignores SIGTERM included', async (t) => {
  const root = await temporaryDirectory(t);
  const running = resultOf('shell', { command: `echo begun; ${stubborn}`, timeout_ms: 500 }, contextOf(root));
  const pid = await pidIn(root);
  const result = await running;
  await until(() => !isAlive(pid), 'the command is dead');
  const { ended_processes, ...rest } = result;
  assert.deepEqual(rest, { exit_code: null, stdout: 'begun\n', stderr: '', timed_out: true, truncated: false });
  // The shell, the grandchild and what it waits for.
  if (process.platform === 'linux') assert.equal(ended_processes, 3);
});

test('on cancel the whole process group dies', async (t) => {
  const root = await temporaryDirectory(t);
  const cancel = new AbortController();
  const running = shell({ command: stubborn }, contextOf(root, { signal: cancel.signal }));
  const pid = await pidIn(root);
  cancel.abort('cancelled');
  await assert.rejects(running, { message: 'cancelled' });
  await until(() => !isAlive(pid), 'the grandchild is dead');
});

test("the frame's timeout ends a command whose own timeout is longer", async (t) => {
  const frame = new AbortController();
  const root = await temporaryDirectory(t);
  const command = 'echo a; touch begun; sleep 60';
  const running = resultOf('shell', { command, timeout_ms: 60_000 }, contextOf(root, { signal: frame.signal }));
  await until(() => existsSync(join(root, 'begun')), 'the command runs');
  frame.abort('timeout');
  const { ended_processes: _, ...rest } = await running;
  assert.deepEqual(rest, { exit_code: null, stdout: 'a\n', stderr: '', timed_out: true, truncated: false });
});

test('groups that still run are killed at once when the daemon exits', async (t) => {
  const root = await temporaryDirectory(t);
  const groups = createProcessGroups();
  const running = resultOf('shell', { command: stubborn }, contextOf(root, { groups }));
  const pid = await pidIn(root);
  groups.killAll();
  assert.equal((await running).exit_code, 137);
  await until(() => !isAlive(pid), 'the grandchild is dead');
});

test('a survivor that holds the pipe open does not hold up the answer, lives on and writes on', async (t) => {
  const root = await temporaryDirectory(t);
  const loop = 'until [ -e go ]; do sleep 0.02; done; echo more; touch written; exec sleep 600';
  const result = await resultOf('shell', { command: `(${loop}) & echo $!` }, contextOf(root));
  const survivor = Number(result.stdout);
  t.after(() => process.kill(survivor, 'SIGKILL'));
  assert.equal(result.exit_code, 0);
  await writeFile(join(root, 'go'), '');
  await until(() => existsSync(join(root, 'written')), 'it wrote on');
  assert.equal(isAlive(survivor), true);
});

test('1 MiB of each stream is kept, the rest dropped without blocking the command', async (t) => {
  const result = await run(t, {
    command: 'head -c 5000000 /dev/zero | tr "\\0" a; head -c 100 /dev/zero | tr "\\0" b >&2',
  });
  assert.equal(result.stdout, 'a'.repeat(1024 * 1024));
  assert.equal(result.stderr, 'b'.repeat(100));
  assert.deepEqual([result.exit_code, result.truncated], [0, true]);
});

test('exactly 1 MiB is not truncated', async (t) => {
  const result = await run(t, { command: 'head -c 1048576 /dev/zero | tr "\\0" a' });
  assert.deepEqual([result.stdout.length, result.truncated], [1024 * 1024, false]);
});

test('output is never cut within a character', async (t) => {
  const result = await run(t, { command: 'printf x; yes € | head -n 400000 | tr -d "\\n"' });
  assert.match(result.stdout, /^x€+$/);
  assert.equal(result.truncated, true);
});

test('1 MiB of one stream is kept whatever it holds', async (t) => {
  const result = await run(t, { command: 'head -c 1048576 /dev/zero; echo err >&2' });
  assert.deepEqual([result.stdout.length, result.truncated], [1024 * 1024, false]);
});

test('output of control characters still makes a result under 12 MB', async (t) => {
  const result = await run(t, { command: 'head -c 1048576 /dev/zero; head -c 1048576 /dev/zero >&2' });
  assert.ok(JSON.stringify(result).length < 12_000_000);
  assert.equal(result.truncated, true);
});

test('the key never reaches the environment of a child, under whatever name it came', async (t) => {
  const environment = withoutKey(
    { PATH: process.env['PATH'], SVC_API_KEY: testKey, COPY: `Bearer ${testKey}` },
    testKey,
  );
  const result = await run(t, { command: 'env', env: { GIVEN: '1', SVC_API_KEY: 'other' } }, { environment });
  assert.match(result.stdout, /^GIVEN=1$/m);
  assert.doesNotMatch(result.stdout, /SVC_API_KEY|svc_k/);
});

test('cwd starts at the first root, may be a directory below, and never lies outside', async (t) => {
  const root = await temporaryDirectory(t);
  const context = contextOf(root);
  await mkdir(join(root, 'below'));
  await symlink('/etc', join(root, 'out'));
  const pwd = async (cwd?: string) => (await resultOf('shell', { command: 'pwd', cwd }, context)).stdout.trim();
  assert.equal(await pwd(), root);
  assert.equal(await pwd('below'), join(root, 'below'));
  await assert.rejects(pwd('/etc'), { message: 'outside_roots' });
  await assert.rejects(pwd('out'), { message: 'outside_roots' });
  await assert.rejects(pwd('absent'), { message: 'not_found' });
});

test('bad arguments are named', async (t) => {
  await assert.rejects(run(t, {}), { message: /^bad_args: command: / });
  await assert.rejects(run(t, { command: 'a\0b' }), { message: 'bad_args: command: must not hold NUL' });
  await assert.rejects(run(t, { command: `: ${'x'.repeat(300_000)}` }), { message: 'bad_args: command: too long' });
});
