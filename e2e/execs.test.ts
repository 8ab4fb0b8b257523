import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Client } from '@svc/sdk';
import { isAlive, startCommand, startOnTerminal, temporaryDirectory } from '../apps/host/src/testing.ts';
import { hostProgram } from '../apps/server/src/features/hosts/index.ts';
import { shared } from '../apps/server/src/testing.shared.ts';
import { clientOf, createAccount, type OpenTest, openTest, startGateway, until } from '../apps/server/src/testing.ts';
import { Line } from './execs.testing.ts';

const { gateway } = shared(() => openTest());

/** A line to the gateway of all tests, or to one of its own, and a machine whose daemon can be started, killed and started again. */
async function setUp(test: TestContext, own?: OpenTest) {
  const stack = new AsyncDisposableStack();
  test.after(() => stack.disposeAsync());
  const t = own ?? { gateway, account: await createAccount(gateway) };
  const line = stack.use(new Line());
  const url = await line.open();
  line.lead(t.gateway.url);
  const [stateDir, root] = [await temporaryDirectory(test), await temporaryDirectory(test)];
  const environment = { SVC_API_KEY: t.account.key, HOME: root };
  const words = ['run', '--state-dir', stateDir, '--url', url, '--roots', root, '--allow-shell', '--name', 'box'];
  const deviceId = randomUUID();
  await writeFile(join(stateDir, 'device.json'), JSON.stringify({ device_id: deviceId }), { mode: 0o600 });
  const client: Client = clientOf({ url }, t.account.key);
  await clientOf(t.gateway, t.account.key, deviceId).devices.list();
  const path = (name: string) => join(root, name);
  return {
    ...t,
    line,
    url,
    stateDir,
    root,
    deviceId,
    client,
    path,
    environment,
    words,
    /** Starts the daemon and waits until it is connected. */
    async start() {
      const daemon = startCommand(test, words, environment);
      stack.defer(async () => {
        daemon.process.kill('SIGKILL');
        await daemon.ended;
      });
      await daemon.says('connected as box');
      return daemon;
    },
    async give(command: string, more: object = {}): Promise<string> {
      const { args = {}, ...fields } = more as { args?: object };
      const body = { op: 'shell', args: { command, ...args }, if_offline: 'wait' as const, detach: true, ...fields };
      return (await client.hosts.exec({ params: { device_id: deviceId }, body })).req_id;
    },
    get: (id: string) => client.hosts.getExec({ params: { req_id: id } }),
    text: async (id: string) => Buffer.from(await client.hosts.execOutput({ params: { req_id: id } })).toString(),
    /** Waits until it is in a state, and answers it. */
    async reached(id: string, state: string) {
      let seen = '';
      await until(async () => {
        const exec = await client.hosts.getExec({ params: { req_id: id } }).catch(() => undefined);
        seen = JSON.stringify(exec);
        return exec?.state === state;
      }).catch(() => assert.fail(`${state}: ${seen}`));
      return client.hosts.getExec({ params: { req_id: id } });
    },
    /** The pid in a file that a command wrote. */
    async pid(name = 'pid') {
      let pid = 0;
      await until(async () => (pid = Number(await readFile(path(name), 'utf8').catch(() => '0'))) > 0);
      return pid;
    },
  };
}

test('a command given while its machine is off is done after it comes back, with the gateway restarted in between', async (test) => {
  await using t = await openTest();
  const s = await setUp(test, t);
  const id = await s.give('echo out; echo err >&2; echo once >> marks; exit 3');
  assert.equal((await s.get(id)).state, 'waiting');
  s.line.lead();
  await t.gateway.close();
  await using second = await startGateway(t.database);
  s.line.lead(second.url);
  await s.start();
  const done = await s.reached(id, 'done');
  assert.deepEqual([done.ok, done.exit_code, done.output_bytes], [true, 3, 8]);
  assert.deepEqual(done.result, { exit_code: 3, timed_out: false, truncated: false });
  assert.equal(await s.text(id), 'out\nerr\n');
  assert.equal(await readFile(s.path('marks'), 'utf8'), 'once\n');
  await until(async () => (await readdir(join(s.stateDir, 'execs'))).every((name) => name.endsWith('.done')));
});

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  test(`a command outlives a daemon that got ${signal}: the next one sends the rest and how it ended`, async (test) => {
    const s = await setUp(test);
    const daemon = await s.start();
    const id = await s.give('echo $$ > pid; echo begun; while [ ! -e go ]; do sleep 0.1; done; echo ended; exit 7');
    const pid = await s.pid();
    await until(async () => (await s.get(id)).output_bytes > 0);
    daemon.process.kill(signal);
    await daemon.ended;
    assert.ok(isAlive(pid));
    await writeFile(s.path('go'), '');
    await until(() => !isAlive(pid));
    assert.equal((await s.get(id)).state, 'running');
    await s.start();
    const done = await s.reached(id, 'done');
    assert.deepEqual([done.ok, done.exit_code], [true, 7]);
    assert.equal(await s.text(id), 'begun\nended\n');
  });
}

test('what a rebooted machine cannot know is unknown, and said to be', async (test) => {
  const s = await setUp(test);
  const daemon = await s.start();
  const id = await s.give('echo $$ > pid; echo begun; sleep 600');
  await s.pid();
  await until(async () => (await s.get(id)).output_bytes > 0);
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  const file = join(s.stateDir, 'execs', `${id}.json`);
  const record = JSON.parse(await readFile(file, 'utf8'));
  process.kill(-record.process.pid, 'SIGKILL');
  await until(() => !isAlive(record.process.pid));
  record.process.started = `another boot/${record.process.started.split('/')[1]}`;
  await writeFile(file, JSON.stringify(record));
  await s.start();
  const lost = await s.reached(id, 'unknown');
  assert.deepEqual([lost.error, lost.ok, lost.exit_code], ['host_restarted', undefined, undefined]);
  assert.equal(await s.text(id), 'begun\n');
});

test('a machine that lost its journal starts nothing again, and its caller hears of it', async (test) => {
  const s = await setUp(test);
  const daemon = await s.start();
  const id = await s.give('echo $$ > pid; echo once >> marks; sleep 600');
  const pid = await s.pid();
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  await rm(join(s.stateDir, 'execs'), { recursive: true });
  await s.start();
  assert.equal((await s.reached(id, 'unknown')).error, 'journal_lost');
  assert.equal(await readFile(s.path('marks'), 'utf8'), 'once\n');
  process.kill(pid, 'SIGKILL');
});

test('a command that cannot be written down is not started, and its caller hears why; the next one is', async (test) => {
  const s = await setUp(test);
  await s.start();
  // In the place of the journal stands a file.
  await rm(join(s.stateDir, 'execs'), { recursive: true });
  await writeFile(join(s.stateDir, 'execs'), '');
  const id = await s.give('touch started');
  const done = await s.reached(id, 'done');
  assert.equal(done.ok, false);
  assert.match(done.error ?? '', /^host_journal_failed: /);
  await assert.rejects(readFile(s.path('started')));
  await rm(join(s.stateDir, 'execs'));
  assert.equal((await s.reached(await s.give('true'), 'done')).exit_code, 0);
});

test('of 16 MiB the first 10 are kept, and it is said', async (test) => {
  const s = await setUp(test);
  await s.start();
  const id = await s.give('head -c 16777216 /dev/zero | tr "\\0" a; echo $? > status');
  const done = await s.reached(id, 'done');
  assert.deepEqual([done.ok, done.exit_code, done.truncated, done.output_bytes], [true, 0, true, 10 * 2 ** 20]);
  assert.equal(await readFile(s.path('status'), 'utf8'), '0\n');
});

test('a cancel kills the whole group, also when another daemon started it', async (test) => {
  const s = await setUp(test);
  const daemon = await s.start();
  const id = await s.give('trap "" TERM; (trap "" TERM; echo $BASHPID > pid; sleep 600 & wait; sleep 600) & sleep 600');
  const pid = await s.pid();
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  assert.equal((await s.client.hosts.cancelExec({ params: { req_id: id } })).state, 'running');
  await s.start();
  const { error, result } = await s.reached(id, 'cancelled');
  assert.equal(error, 'cancelled');
  // The command's shell, the one behind it, and a `sleep` of each.
  if (process.platform === 'linux') assert.equal((result as Record<string, unknown>)['ended_processes'], 4);
  await until(() => !isAlive(pid));
});

test('a command that takes too long is killed when its time is over, with no daemon there', async (test) => {
  const s = await setUp(test);
  const daemon = await s.start();
  const id = await s.give('echo $$ > pid; echo begun; sleep 600', { args: { timeout_ms: 2_000 } });
  const pid = await s.pid();
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  await until(() => !isAlive(pid));
  await s.start();
  const done = await s.reached(id, 'done');
  const { ended_processes, ...rest } = done.result as Record<string, unknown>;
  assert.deepEqual(rest, { exit_code: null, timed_out: true, truncated: false });
  // The command's shell, and its `sleep` where the shell did not become it.
  if (process.platform === 'linux') assert.ok(Number(ended_processes) >= 1);
  // The shell may say that it was terminated.
  assert.match(await s.text(id), /^begun\n/);
});

test('20 commands that wait start once and in their order, on a line that is cut again and again', async (test) => {
  const s = await setUp(test);
  const ids: string[] = [];
  for (let n = 0; n < 20; n += 1) ids.push(await s.give(`echo ${n} >> order; sleep 0.2`));
  await s.start();
  for (let n = 0; n < 3; n += 1) {
    await until(async () => (await readFile(s.path('order'), 'utf8').catch(() => '')).split('\n').length > n * 5);
    s.line.lead(s.gateway.url);
  }
  const started: string[] = [];
  for (const id of ids) started.push((await s.reached(id, 'done')).started_at ?? '');
  assert.deepEqual(started, started.toSorted());
  const order = (await readFile(s.path('order'), 'utf8')).trim().split('\n').map(Number);
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, n) => n),
  );
});

test('operations that are no command are done too, standard input is passed on, and a policy is obeyed', async (test) => {
  const s = await setUp(test);
  await mkdir(s.path('folder'));
  const body = { op: 'list_dir', args: { path: '.' }, if_offline: 'wait' as const };
  const { req_id: list } = await s.client.hosts.exec({ params: { device_id: s.deviceId }, body });
  const cat = await s.give('tr a-z A-Z', { args: { stdin: Buffer.from('héllo').toString('base64') } });
  await s.start();
  const { ok, result } = await s.reached(list, 'done');
  assert.deepEqual(
    [ok, (result as { entries: { name: string }[] }).entries.some(({ name }) => name === 'folder')],
    [true, true],
  );
  await s.reached(cat, 'done');
  assert.match(await s.text(cat), /^H.*LLO$/);
  await writeFile(join(s.stateDir, 'host.json'), JSON.stringify({ ops: { shell: 'refuse' } }));
  const refused = await s.reached(await s.give('touch started'), 'done');
  assert.deepEqual([refused.ok, refused.error], [false, 'refused_by_policy']);
  await assert.rejects(readFile(s.path('started')));
});

/** A `svc host` command of another machine, with what it reads. */
function commandOf(test: TestContext, s: Awaited<ReturnType<typeof setUp>>) {
  return async (...words: string[]) => {
    const HOME = await temporaryDirectory(test);
    return startCommand(test, words, { HOME, SVC_API_KEY: s.account.key, SVC_BASE_URL: s.url });
  };
}

test('exec --live shows output as it comes, over a line that breaks, and exits with the exit code', async (test) => {
  const s = await setUp(test);
  await s.start();
  const command = await commandOf(test, s)(
    'exec',
    'box',
    '--live',
    '--',
    'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ünd >&2; exit 9',
  );
  await command.says('begun\n');
  s.line.lead(s.gateway.url);
  await writeFile(s.path('go'), '');
  assert.equal(await command.ended, 9);
  assert.equal(command.stdout(), 'begun\nünd\n');
});

test('exec --wait waits for a machine that is away, and Ctrl-C ends the command there', async (test) => {
  const s = await setUp(test);
  const start = commandOf(test, s);
  const command = await start('exec', s.deviceId, '--wait', '--', 'echo done; exit 4');
  await command.says('waiting: the host is away');
  const stopped = await start('exec', s.deviceId, '--wait', '--', 'echo $$ > pid; sleep 600');
  await stopped.says('waiting: the host is away');
  await s.start();
  assert.equal(await command.ended, 4);
  assert.equal(command.stdout(), 'done\n');
  const pid = await s.pid();
  stopped.process.kill('SIGINT');
  assert.equal(await stopped.ended, 130);
  await until(() => !isAlive(pid));
});

test('exec --detach prints an id; execs list, show, output and cancel take it', async (test) => {
  const s = await setUp(test);
  const start = commandOf(test, s);
  const run = async (...words: string[]) => {
    const command = await start(...words);
    return { code: await command.ended, out: command.stdout(), err: command.stderr() };
  };
  assert.equal((await run('exec', s.deviceId, '--detach', '--', 'true')).code, 125);
  const given = await run('exec', s.deviceId, '--detach', '--wait', '--', 'sleep 600');
  const [waiting = ''] = /^[0-9a-f-]{36}/.exec(given.out) ?? [];
  assert.deepEqual([given.code, given.out], [0, `${waiting}\n`]);
  assert.match((await run('execs', 'list')).out, new RegExp(`${waiting} .* waiting `));
  assert.equal((await run('execs', 'cancel', waiting)).out, 'cancelled\n');
  assert.equal(JSON.parse((await run('execs', 'show', waiting)).out).state, 'cancelled');
  await s.start();
  const { out } = await run('exec', 'box', '--detach', '--', 'echo hello');
  assert.equal((await run('execs', 'output', '--follow', out.trim())).out, 'hello\n');
  assert.equal((await run('execs', 'output', out.trim())).out, 'hello\n');
});

test('where the policy asks, a command waits for the person on that machine, also over a restart of the daemon', async (test) => {
  const s = await setUp(test);
  await writeFile(join(s.stateDir, 'host.json'), JSON.stringify({ ops: { shell: 'ask' } }));
  const terminal = () =>
    startOnTerminal(
      test,
      s.words.filter((word) => word !== '--allow-shell'),
      s.environment,
    );
  const [no, later, taken] = [await s.give('echo no'), await s.give('echo later'), await s.give('echo taken back')];
  const first = terminal();
  await first.shows('asks to run: echo no [y/N]');
  assert.equal((await s.get(no)).state, 'sent');
  first.type('n\n');
  const refused = await s.reached(no, 'done');
  assert.deepEqual([refused.ok, refused.error], [false, 'refused_by_user']);
  await first.shows('asks to run: echo later [y/N]');
  first.type('\u0003');
  await first.ended;
  const second = terminal();
  await second.shows('asks to run: echo later [y/N]');
  await s.client.hosts.cancelExec({ params: { req_id: taken } });
  second.type('y\n');
  await s.reached(later, 'done');
  assert.equal(await s.text(later), 'later\n');
  const { state, output_bytes } = await s.get(taken);
  assert.deepEqual([state, output_bytes], ['cancelled', 0]);
  second.type('\u0003');
  await second.ended;
});

/** The Node.js of the machine, where it is older than the pinned one. */
const systemPath = { PATH: '/usr/local/bin:/usr/bin:/bin' };
const older = spawnSync('/bin/sh', ['-c', 'command -v node'], { encoding: 'utf8', env: systemPath }).stdout.trim();
const isOlder = older !== '' && spawnSync(older, ['--version'], { encoding: 'utf8' }).stdout.startsWith('v20.');

test('the daemon as one file does commands under Node.js 20 too', {
  skip: !isOlder && 'needs Node.js 20',
}, async (test) => {
  const s = await setUp(test);
  const program = s.path('host.mjs');
  await writeFile(program, (await hostProgram.built()).bytes);
  const begin = () =>
    spawn(older, [program, ...s.words], { env: { ...systemPath, ...s.environment }, stdio: 'ignore' });
  const first = begin();
  const id = await s.give('echo $$ > pid; while [ ! -e go ]; do sleep 0.1; done; echo ended; exit 7');
  await s.pid();
  first.kill('SIGKILL');
  await writeFile(s.path('go'), '');
  const second = begin();
  test.after(() => second.kill('SIGKILL'));
  assert.equal((await s.reached(id, 'done')).exit_code, 7);
  assert.equal(await s.text(id), 'ended\n');
});

const canMount = process.getuid?.() === 0 && process.platform === 'linux';

test('on a full disk nothing starts that cannot be written down, and what loses output says so', {
  skip: !canMount && 'needs root',
}, async (test) => {
  const s = await setUp(test);
  const journal = join(s.stateDir, 'execs');
  await mkdir(journal, { mode: 0o700 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', journal]);
  // Before the hooks that remove its folder.
  await using _mounted = { [Symbol.asyncDispose]: async () => void execFileSync('umount', ['-l', journal]) };
  await s.start();
  const loud = await s.give('head -c 1048576 /dev/zero | tr "\\0" a; exit 5');
  const cut = await s.reached(loud, 'done');
  assert.deepEqual([cut.ok, cut.exit_code, cut.truncated], [true, 5, true]);
  assert.ok(cut.output_bytes > 0 && cut.output_bytes < 2 ** 18);
  await until(async () => !(await readdir(journal)).includes(`${loud}.out`));
  await writeFile(join(journal, 'ballast'), 'x'.repeat(2 ** 20)).catch(() => {});
  const refused = await s.reached(await s.give('touch started'), 'done');
  assert.deepEqual([refused.ok, refused.error], [false, 'host_disk_full']);
  await assert.rejects(readFile(s.path('started')));
});

test('a daemon that died before its last word to a process starts the command, once', async (test) => {
  const s = await setUp(test);
  const daemon = await s.start();
  const id = await s.give('echo $$ > pid; sleep 600');
  const pid = await s.pid();
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  const file = (kind: string) => join(s.stateDir, 'execs', `${id}.${kind}`);
  const { process: leader } = JSON.parse(await readFile(file('json'), 'utf8'));
  process.kill(-leader.pid, 'SIGKILL');
  await until(() => !isAlive(leader.pid) && !isAlive(pid));
  // As the shell leaves it that was not told to go on.
  await writeFile(file('end'), '----------\n');
  await rm(s.path('pid'));
  await s.start();
  const again = await s.pid();
  assert.equal((await s.get(id)).state, 'running');
  await s.client.hosts.cancelExec({ params: { req_id: id } });
  await s.reached(id, 'cancelled');
  await until(() => !isAlive(again));
});
