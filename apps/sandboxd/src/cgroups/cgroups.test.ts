import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { needsRoot, temporaryDirectory } from '../parts.testing.ts';
import { until } from '../testing.ts';
import { openControlGroups } from './cgroups.ts';
import { moveDown } from './hierarchies.ts';

const limits = { memoryBytes: 64 * 1024 ** 2, pids: 20, cpus: 0.5 };
const skip = needsRoot;
const unified = /^(?:\S+ ){4}(\S+) .* - cgroup2 /m.exec(readFileSync('/proc/self/mountinfo', 'utf8'))?.[1];

async function groups(t: TestContext) {
  const opened = await openControlGroups({ stateDir: await temporaryDirectory(t) });
  t.after(() => opened.removeAll());
  assert.ok(opened.available, 'this machine has no control groups that root can use');
  return opened;
}

test('a process that goes past the memory limit is ended, and counted', { skip, timeout: 60_000 }, async (t) => {
  const group = await (await groups(t)).open('memory', limits);
  const child = spawn('sh', ['-c', `${group.enter}\nexec tail /dev/zero`], { stdio: 'ignore' });
  const [code, signal] = await once(child, 'exit');
  assert.ok(code !== 0, `${code} ${signal}`);
  assert.equal(signal, 'SIGKILL');
  assert.ok((await group.oomKills()) >= 1);
});

test('a fork bomb stays inside of its group, and kill ends all of it', { skip, timeout: 60_000 }, async (t) => {
  const opened = await groups(t);
  const group = await opened.open('bomb', limits);
  const child = spawn('bash', ['-c', `${group.enter}\nwhile :; do sleep 100 & done`], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  while ((await group.processes()).length < limits.pids) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok((await group.processes()).length <= limits.pids);
  await group.kill();
  assert.deepEqual(await group.processes(), []);
  await gone;
  // It is of use again.
  const next = spawn('sh', ['-c', `${group.enter}\nexit 7`], { stdio: 'ignore' });
  assert.deepEqual(await once(next, 'exit'), [7, null]);
  await group.remove();
  assert.deepEqual(await opened.list(), []);
});

test('what is frozen stands still, goes on, and can be killed as it is', {
  skip: skip || (!/ - cgroup2 /.test(readFileSync('/proc/self/mountinfo', 'utf8')) && 'no version 2 control groups'),
}, async (t) => {
  const group = await (await groups(t)).open('still', limits);
  const child = spawn('sh', ['-c', `${group.enter}\nwhile read -r line; do echo "$line"; done`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const answers = async (word: string): Promise<void> => {
    child.stdin.write(`${word}\n`);
    while (!said.includes(word)) await once(child.stdout, 'data');
  };
  await answers('one');
  await group.freeze(true);
  const [events = ''] = globSync('/sys/fs/cgroup/{,*/}svc-*/still/cgroup.events');
  await until(async () => readFileSync(events, 'utf8').includes('frozen 1'), 'the group to stand still');
  child.stdin.write('two\n');
  assert.equal(said, 'one\n');
  await group.freeze(false);
  await answers('two');
  await group.freeze(true);
  const gone = once(child, 'exit');
  await group.kill();
  assert.deepEqual(await gone, [null, 'SIGKILL']);
});

test('groups are found again by another process, with new limits, and say what they take', { skip }, async (t) => {
  const stateDir = await temporaryDirectory(t);
  const first = await openControlGroups({ stateDir });
  t.after(() => first.removeAll());
  const group = await first.open('one', limits);
  const child = spawn('sh', ['-c', `${group.enter}\necho in; exec sleep 100`], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const second = await openControlGroups({ stateDir });
  assert.deepEqual(await second.list(), ['one']);
  const again = await second.open('one', { ...limits, memoryBytes: 128 * 1024 ** 2 });
  assert.deepEqual(await again.processes(), [child.pid]);
  assert.ok((await again.memoryBytes()) > 0);
  const gone = once(child, 'exit');
  await again.remove();
  await gone;
  assert.deepEqual(await first.list(), []);
});

test('the processes of a container make room for groups that are limited', {
  skip: skip || (unified === undefined && 'no version 2 control groups'),
}, async (t) => {
  const at = join(unified ?? '', `svc-test-${process.pid}`);
  await mkdir(at);
  const child = spawn('sh', ['-c', `echo $$ > ${at}/cgroup.procs && echo in && exec sleep 600`]);
  t.after(async () => {
    child.kill('SIGKILL');
    await until(() => readFileSync(join(at, 'svc-container/cgroup.procs'), 'utf8') === '', 'the group to be empty');
    await rmdir(join(at, 'svc-container'));
    await rmdir(at);
  });
  await once(child.stdout, 'data');
  await moveDown(at);
  const inside = (name: string): string => readFileSync(join(at, name), 'utf8');
  assert.deepEqual([inside('cgroup.procs'), inside('svc-container/cgroup.procs')], ['', `${child.pid}\n`]);
});

test('a hierarchy that cannot be used says why', async (t) => {
  const mountinfo = `1 1 0:1 / ${await temporaryDirectory(t)} rw - cgroup cgroup rw,memory`;
  const none = await openControlGroups({ stateDir: await temporaryDirectory(t), mountinfo });
  assert.equal(none.available, false);
  assert.match(none.reason ?? '', /ENOENT.*cgroup\.procs/);
});

test('without control groups nothing is limited and nothing fails', async (t) => {
  const none = await openControlGroups({ stateDir: await temporaryDirectory(t), mountinfo: '' });
  assert.equal(none.available, false);
  assert.match(none.reason ?? '', /can limit memory/);
  const group = await none.open('x', limits);
  assert.deepEqual([group.enter, await group.processes(), await group.oomKills()], ['', [], 0]);
  assert.equal(await group.memoryBytes(), 0);
  await group.remove();
  assert.deepEqual(await none.list(), []);
});
