import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive, startCommand, startDaemon, startOnTerminal, temporaryDirectory, until } from './testing.ts';
import { fakeGateway, refuse, testKey } from './testing.gateway.ts';

interface ShellResult {
  stdout: string;
  exit_code: number | null;
}

/** A command that says its pid in a file, ignores SIGTERM and goes on for ever. */
const stubborn = 'trap "" TERM; echo $$ > pid; while :; do sleep 1; done';

async function pidIn(root: string): Promise<number> {
  let pid = 0;
  await until(async () => {
    pid = Number(await readFile(join(root, 'pid'), 'utf8').catch(() => '0'));
    return pid > 0;
  }, 'the command wrote its pid');
  return pid;
}

test('a started daemon is present under its name with its roots, and keeps its id for ever', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway, ['--name', 'büro']);
  const stream = await gateway.stream();
  await daemon.says(`connected as büro (${stream.deviceId}), roots: ${daemon.root}`);
  await daemon.says('shell allow');
  assert.equal(stream.query.get('roots'), daemon.root);
  assert.equal(stream.headers['x-svc-device-platform'], 'desktop');
  const modes = await Promise.all(
    ['', 'device.json', 'host.json', 'daemon.lock'].map(
      async (name) => (await stat(join(daemon.stateDir, name))).mode & 0o777,
    ),
  );
  assert.deepEqual(modes, [0o700, 0o600, 0o600, 0o600]);
  daemon.process.kill('SIGTERM');
  assert.equal(await daemon.ended, 0);
  const words = ['run', '--state-dir', daemon.stateDir, '--url', gateway.url, '--roots', daemon.root, '--json'];
  const again = startCommand(t, words, { SVC_API_KEY: testKey, HOME: daemon.root });
  assert.equal((await gateway.stream()).deviceId, stream.deviceId);
  await again.says(`"device_id":"${stream.deviceId}"`);
});

test('a second daemon is refused while one runs, and starts after kill -9', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const words = ['run', '--state-dir', daemon.stateDir, '--url', gateway.url];
  const second = startCommand(t, words, { SVC_API_KEY: testKey, HOME: daemon.root });
  assert.equal(await second.ended, 1);
  assert.match(second.stderr(), new RegExp(`^svc: a host daemon already runs .*pid ${daemon.process.pid}\\b.*\n$`));
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  startCommand(t, words, { SVC_API_KEY: testKey, HOME: daemon.root });
  await gateway.stream();
});

test('operations answer over the relay, failures by name', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const ask = (op: string, args?: object, beside?: object) => gateway.exec(op, args, 30_000, beside).outcome;
  assert.deepEqual(await ask('write_file', { path: 'f', content: 'hi' }), {
    ok: true,
    result: {
      path: join(daemon.root, 'f'),
      bytes: 2,
      sha256: '8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4',
    },
  });
  // Arguments that a caller put beside `args`.
  const read = await ask('read_file', {}, { path: 'f' });
  assert.equal((read.result as { content: string }).content, 'hi');
  const about = (await ask('info')).result as Record<string, unknown>;
  assert.deepEqual([about['roots'], about['platform'], about['node']], [[daemon.root], 'desktop', process.version]);
  assert.deepEqual(await ask('format_disk'), { ok: false, error: 'unknown_op' });
  assert.deepEqual(await ask('toString'), { ok: false, error: 'unknown_op' });
  assert.deepEqual(await ask('stat', { path: '/etc' }), { ok: false, error: 'outside_roots' });
  assert.deepEqual(await ask('stat', { path: 'absent' }), { ok: false, error: 'not_found' });
  assert.match((await ask('stat', { path: 7 })).error ?? '', /^bad_args: path: /);
  assert.deepEqual(await ask('read_file', { path: join(daemon.stateDir, 'host.json') }), {
    ok: false,
    error: 'outside_roots',
  });
});

test("the daemon's state is out of reach when it lies inside a root", async (t) => {
  const gateway = await fakeGateway(t);
  const home = await temporaryDirectory(t);
  const keyFile = join(home, 'key');
  await writeFile(keyFile, `${testKey}\n`, { mode: 0o600 });
  startCommand(t, ['run', '--url', gateway.url, '--key-file', keyFile], { HOME: home });
  await gateway.stream();
  for (const path of [keyFile, '.config/svc/host.json', '.config/svc/new']) {
    const refused = { ok: false, error: 'refused_by_policy' };
    assert.deepEqual(await gateway.exec('read_file', { path }).outcome, refused);
    assert.deepEqual(await gateway.exec('write_file', { path, content: '{}' }).outcome, refused);
  }
});

test('keys of svc login are out of reach, wherever the state is and whenever somebody signs in', async (t) => {
  const gateway = await fakeGateway(t);
  const [home, elsewhere] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  const link = join(elsewhere, 'home');
  await symlink(home, link);
  const words = ['run', '--url', gateway.url, '--state-dir', join(elsewhere, 'state'), '--roots', home];
  startCommand(t, words, { HOME: link, SVC_API_KEY: testKey });
  await gateway.stream();
  await mkdir(join(home, '.config/svc'), { recursive: true });
  await writeFile(join(home, '.config/svc/default.json'), '{}');
  const read = gateway.exec('read_file', { path: '.config/svc/default.json' });
  assert.deepEqual(await read.outcome, { ok: false, error: 'refused_by_policy' });
});

test('the key reaches neither the environment nor the command line that a command can see, nor the log', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway, ['--key', testKey], { SVC_API_KEY: 'svc_other', COPY: testKey });
  await gateway.stream();
  const { outcome } = gateway.exec('shell', { command: 'env; tr "\\0" " " < /proc/$PPID/cmdline' });
  const { stdout } = (await outcome).result as ShellResult;
  assert.match(stdout, /^PATH=/m);
  assert.doesNotMatch(stdout, /SVC_API_KEY|svc_/);
  await daemon.says('connected as');
  assert.ok(!(daemon.stdout() + daemon.stderr()).includes(testKey));
});

test('a cancelled operation is killed whole and not reported', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  const stream = await gateway.stream();
  const { reqId, outcome } = gateway.exec('shell', { command: `bash -c '${stubborn}' & wait` });
  let reported = false;
  void outcome.then(() => {
    reported = true;
  });
  const pid = await pidIn(daemon.root);
  stream.send('exec_cancel', { req_id: reqId });
  await until(() => !isAlive(pid), 'the grandchild is dead');
  await gateway.exec('info').outcome;
  assert.equal(reported, false);
});

test("the frame's timeout kills an operation, counted from its arrival whatever the clocks say", async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const begun = performance.now();
  // The deadline that the test's gateway sends lies decades ago.
  const outcome = await gateway.exec('shell', { command: 'echo $$ > pid; sleep 60' }, 1000).outcome;
  const { ended_processes: _, ...result } = outcome.result as ShellResult & { ended_processes?: number };
  assert.deepEqual(result, { exit_code: null, stdout: '', stderr: '', timed_out: true, truncated: false });
  assert.ok(performance.now() - begun >= 950);
  const pid = await pidIn(daemon.root);
  await until(() => !isAlive(pid), 'the command is dead');
});

test('sixteen operations run at once, the seventeenth is told that the host is busy', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const command = 'until [ -e gate ]; do sleep 0.05; done; echo through';
  const running = Array.from({ length: 16 }, () => gateway.exec('shell', { command }).outcome);
  assert.deepEqual(await gateway.exec('info').outcome, { ok: false, error: 'busy' });
  await writeFile(join(daemon.root, 'gate'), '');
  for (const outcome of await Promise.all(running)) assert.equal((outcome.result as ShellResult).stdout, 'through\n');
  assert.equal((await gateway.exec('info').outcome).ok, true);
});

test('a policy changed while the daemon runs counts from the next operation on', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const path = join(daemon.stateDir, 'host.json');
  const shell = () => gateway.exec('shell', { command: 'echo ran' }).outcome;
  assert.equal((await shell()).ok, true);
  await writeFile(path, JSON.stringify({ ops: { shell: 'refuse', info: 'allow' } }));
  assert.deepEqual(await shell(), { ok: false, error: 'refused_by_policy' });
  assert.deepEqual(((await gateway.exec('info').outcome).result as { ops: string[] }).ops, ['info']);
  await writeFile(path, '{ broken');
  assert.deepEqual(await shell(), { ok: false, error: 'refused_by_policy' });
  await daemon.says(/host\.json: not JSON/);
  await writeFile(path, JSON.stringify({ ops: { shell: 'ask' } }));
  assert.match((await shell()).error ?? '', /^needs_approval: /);
});

test('a policy that asks is answered at the terminal of the daemon, which shows command and device', async (t) => {
  const gateway = await fakeGateway(t);
  const home = await temporaryDirectory(t);
  const policy = join(home, 'ask.json');
  await writeFile(policy, JSON.stringify({ ops: { shell: 'ask' } }), { mode: 0o600 });
  const words = ['run', '--url', gateway.url, '--policy', policy, '--roots', home];
  const terminal = startOnTerminal(t, words, { HOME: home, SVC_API_KEY: testKey });
  await gateway.stream();
  const from_device_id = crypto.randomUUID();
  for (const [typed, wanted] of [
    ['n', { ok: false, error: 'refused_by_user' }],
    ['y', { ok: true, result: { exit_code: 0, stdout: 'y\n', stderr: '', timed_out: false, truncated: false } }],
  ] as const) {
    const { outcome } = gateway.exec('shell', { command: `echo ${typed}` }, 30_000, { from_device_id });
    await terminal.shows(`${from_device_id} asks to run: echo ${typed} [y/N]`);
    terminal.type(`${typed}\n`);
    assert.deepEqual(await outcome, wanted);
  }
  const unanswered = gateway.exec('shell', { command: 'echo ran' }, 1000);
  assert.match((await unanswered.outcome).error ?? '', /^needs_approval: /);
});

for (const [said, shell] of [
  ['y', 'allow'],
  ['n', 'ask'],
] as const) {
  test(`the first run asks at the terminal whether commands are allowed; ${said}: ${shell}, from then on`, async (t) => {
    const gateway = await fakeGateway(t);
    const home = await temporaryDirectory(t);
    const words = ['run', '--url', gateway.url, '--state-dir', join(home, 'state')];
    const env = { HOME: home, SVC_API_KEY: testKey };
    const first = startOnTerminal(t, words, env);
    await first.shows('without asking each time? [y/N]');
    first.type(`${said}\n`);
    await first.shows('connected as');
    assert.match(first.screen(), new RegExp(`host\\.json: shell ${shell}, `));
    first.type('\u0003');
    await first.ended;
    const second = startOnTerminal(t, words, env);
    await second.shows('connected as');
    assert.ok(!second.screen().includes('[y/N]'), second.screen());
    assert.match(second.screen(), new RegExp(`host\\.json: shell ${shell}, `));
    second.type('\u0003');
    await second.ended;
  });
}

test('without a terminal and without --allow-shell commands are refused with what to do, all else is served', async (t) => {
  const gateway = await fakeGateway(t);
  const home = await temporaryDirectory(t);
  const start = (...more: string[]) =>
    startCommand(t, ['run', '--url', gateway.url, ...more], { SVC_API_KEY: testKey, HOME: home });
  const daemon = start();
  await gateway.stream();
  const path = join(home, '.config/svc/host.json');
  await daemon.says(`start the daemon in a terminal, or set ops.shell to "allow" in ${path}`);
  await daemon.says(
    `can make this machine: run what you say y to, here; read files below ${home}; write files below ${home}`,
  );
  const refused = await gateway.exec('shell', { command: 'touch ran' }).outcome;
  assert.equal(refused.ok, false);
  assert.match(refused.error ?? '', /^needs_approval: .* ops\.shell in the policy file/);
  assert.equal((await gateway.exec('info').outcome).ok, true);
  daemon.process.kill('SIGTERM');
  await daemon.ended;
  // A word on the command line, which anything that starts the daemon may add, changes no policy that is there.
  const again = start('--allow-shell');
  await again.says('--allow-shell counts at the first run only');
  await again.says('shell ask');
  again.process.kill('SIGTERM');
  await again.ended;
});

test('the daemon says at start what a key of the account can make the machine do', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await daemon.says(/scope hosts or hosts:exec can make this machine: run any command as \S+; read files below/);
  await daemon.says(/scope schedules can make this machine: run commands that were approved here/);
  await daemon.says(/environments that it serves can: open a terminal as \S+; reach its published ports/);
});

test('a malformed policy file at start ends the daemon with a line that names it', async (t) => {
  const gateway = await fakeGateway(t);
  const home = await temporaryDirectory(t);
  const policy = join(home, 'mine.json');
  await writeFile(policy, '{"ops":{"shell":"perhaps"}}');
  const run = (file: string) =>
    startCommand(t, ['run', '--url', gateway.url, '--policy', file], { SVC_API_KEY: testKey, HOME: home });
  const malformed = run(policy);
  assert.equal(await malformed.ended, 1);
  assert.match(malformed.stderr(), /^svc: .*mine\.json: ops\.shell: [^\n]*\n$/);
  // A policy file that was named and is not there must not turn into one that allows everything.
  const missing = run(join(home, 'absent.json'));
  assert.equal(await missing.ended, 1);
  assert.match(missing.stderr(), /cannot read the policy file .*absent\.json/);
});

test('the daemon comes back by itself when the gateway restarts, and posts the result of what ran meanwhile', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  const first = await gateway.stream();
  execFileSync('mkfifo', [join(daemon.root, 'gate')]);
  const { outcome } = gateway.exec('shell', { command: 'echo begun > begun; cat gate; echo done' });
  await until(
    () =>
      stat(join(daemon.root, 'begun')).then(
        () => true,
        () => false,
      ),
    'the command runs',
  );
  await gateway.stop();
  await writeFile(join(daemon.root, 'gate'), 'x\n');
  await daemon.says('connection lost');
  await gateway.start();
  assert.equal(((await outcome).result as ShellResult).stdout, 'x\ndone\n');
  assert.equal((await gateway.stream()).deviceId, first.deviceId);
});

test('a result that the gateway finds too large is answered as an error, not left to the timeout', async (t) => {
  const gateway = await fakeGateway(t);
  await startDaemon(t, gateway);
  await gateway.stream();
  let refused = 0;
  gateway.intercept = (request, response) => {
    if (!request.url?.endsWith('/result') || refused > 0) return false;
    refused += 1;
    refuse(response, 413, 'payload_too_large');
    return true;
  };
  assert.deepEqual(await gateway.exec('info').outcome, { ok: false, error: 'result_too_large' });
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends what runs, tells its caller, and exits 0 within 5 s`, async (t) => {
    const gateway = await fakeGateway(t);
    const daemon = await startDaemon(t, gateway);
    await gateway.stream();
    const { outcome } = gateway.exec('shell', { command: stubborn });
    const pid = await pidIn(daemon.root);
    daemon.process.kill(signal);
    assert.deepEqual(await outcome, { ok: false, error: 'host_stopped' });
    assert.equal(await daemon.ended, 0);
    await until(() => !isAlive(pid), 'the command is dead');
    await assert.rejects(stat(join(daemon.stateDir, 'daemon.lock')), { code: 'ENOENT' });
  });
}

test('SIGTERM ends the daemon within 5 s when the gateway is gone', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  gateway.exec('shell', { command: stubborn });
  const pid = await pidIn(daemon.root);
  await gateway.stop();
  daemon.process.kill('SIGTERM');
  assert.equal(await daemon.ended, 0);
  await until(() => !isAlive(pid), 'the command is dead');
});

test('a key that is refused from the start ends the daemon with one line that does not show it', async (t) => {
  const gateway = await fakeGateway(t);
  const wrong = `svc_${'w'.repeat(38)}`;
  let streams = 0;
  gateway.intercept = (request) => {
    if (request.url?.startsWith('/v1/hosts/stream')) streams += 1;
    return false;
  };
  const daemon = await startDaemon(t, gateway, ['--key', wrong]);
  assert.equal(await daemon.ended, 1);
  assert.equal(streams, 1, 'it ends at once');
  assert.match(daemon.stderr(), /^svc: the gateway refuses the API key: 401 invalid_api_key: [^\n]*\n$/);
  assert.ok(!(daemon.stdout() + daemon.stderr()).includes(wrong));
});
