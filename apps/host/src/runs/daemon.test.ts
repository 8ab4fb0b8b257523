import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  isAlive,
  startCommand,
  startDaemon,
  startOnTerminal,
  type TestDaemon,
  temporaryDirectory,
  until,
} from '../testing.ts';
import { answer, type FakeGateway, fakeGateway, refuse, testKey } from '../testing.gateway.ts';
import { hashOf, newRun } from '../testing.scheduler.ts';
import { openApprovals } from './approvals.ts';

/** A run whose command is approved on the daemon's machine. */
async function approvedRun(daemon: { stateDir: string }, command: string, changes: object = {}) {
  const run = newRun({ kind: 'shell', spec: { command }, ...changes });
  const approval = { schedule_id: run.schedule_id, name: run.name, approved_at: new Date().toISOString() };
  const approvals = openApprovals(join(daemon.stateDir, 'approvals.json'));
  await approvals.add({ ...approval, command_hash: run.command_hash as string });
  return run;
}

function restart(t: TestContext, gateway: FakeGateway, { stateDir, root }: TestDaemon) {
  const words = ['run', '--state-dir', stateDir, '--url', gateway.url, '--roots', root];
  return startCommand(t, words, { SVC_API_KEY: testKey, HOME: root });
}

const command = (t: TestContext, gateway: FakeGateway, stateDir: string, ...words: string[]) =>
  startCommand(t, [...words, '--state-dir', stateDir, '--url', gateway.url], { SVC_API_KEY: testKey, HOME: stateDir });

test('a daemon offers what it can run under its tags, and no more at once than it may', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const daemon = await startDaemon(t, gateway, ['--tags', 'linux, büro', '--parallel', '2']);
  await until(() => scheduler.claims.length > 0, 'a claim');
  assert.deepEqual(scheduler.claims[0], {
    kinds: ['shell', 'http'],
    tags: ['linux', 'büro'],
    wait_s: 25,
    again: true,
  });
  const runs = [];
  for (const at of [0, 1, 2, 3]) runs.push(await approvedRun(daemon, `until [ -e go${at} ]; do sleep 0.05; done`));
  for (const run of runs) scheduler.queue(run);
  await until(() => scheduler.claimed.length === 2, 'two runs');
  await writeFile(join(daemon.root, 'go1'), '');
  assert.equal((await scheduler.result(runs[1]!)).ok, true);
  await until(() => scheduler.claimed.length === 3, 'the next run');
  for (const at of [0, 2, 3]) await writeFile(join(daemon.root, `go${at}`), '');
  for (const run of runs) assert.equal((await scheduler.result(run)).ok, true);
  const policy = { roots: [daemon.root], agent: { command: ['cat'] }, kinds: ['agent'], parallel: 3 };
  await writeFile(join(daemon.stateDir, 'host.json'), JSON.stringify(policy));
  scheduler.queue(await approvedRun(daemon, 'true'));
  await until(() => String(scheduler.claims.at(-1)?.['kinds']) === 'agent', 'a changed policy counts');
});

test('a gateway that is away or refuses is asked again, and nothing is lost', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  await daemon.says('connected as');
  await gateway.stop();
  await daemon.says('connection lost');
  await gateway.start();
  const run = gateway.scheduler.queue(await approvedRun(daemon, 'echo back'));
  assert.equal((await gateway.scheduler.result(run)).log_tail, 'back\n');
});

test('a key that may be a host and may not take runs: the daemon serves, and says what is refused', async (t) => {
  const gateway = await fakeGateway(t);
  gateway.intercept = (request, response) => {
    if (request.url !== '/v1/scheduler/claim') return false;
    refuse(response, 403, 'forbidden');
    return true;
  };
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  await daemon.says('cannot claim runs: 403 forbidden');
  assert.equal((await gateway.exec('info').outcome).ok, true);
});

test('a key without some of the scopes: each route that is refused is said once, with what it is for and its scope', async (t) => {
  const gateway = await fakeGateway(t);
  const asked = { claim: 0, stream: 0, list: 0 };
  gateway.intercept = (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    const scope = pathname === '/v1/scheduler/claim' ? 'scheduler:serve' : 'schedules';
    if (pathname === '/v1/scheduler/claim') asked.claim += 1;
    else if (pathname === '/v1/schedules/stream') asked.stream += 1;
    else return false;
    const error = { message: 'refused', type: 'permission_error', code: 'forbidden', details: { scopes: [scope] } };
    answer(response, 403, { error });
    return true;
  };
  const daemon = await startDaemon(t, gateway);
  await gateway.stream();
  await daemon.says('this key may not take scheduled runs: it needs the scope "scheduler:serve"; svc host enroll');
  await daemon.says('this key may not hear at once that a run was cancelled: it needs the scope "schedules" or');
  await until(() => asked.stream >= 3, 'it asked again');
  assert.equal(daemon.stderr().split('this key may not').length, 3, daemon.stderr());
  assert.doesNotMatch(daemon.stderr(), /cannot claim runs/);
});

test('SIGTERM ends runs, reports them and claims no more', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  const run = await approvedRun(daemon, 'trap "" TERM; echo $$ > pid; while :; do sleep 1; done');
  gateway.scheduler.queue(run);
  await until(() => existsSync(join(daemon.root, 'pid')), 'the run started');
  daemon.process.kill('SIGTERM');
  assert.equal(await daemon.ended, 0);
  assert.equal((await gateway.scheduler.result(run)).error, 'the daemon was stopped');
  gateway.scheduler.queue(await approvedRun(daemon, 'true'));
  assert.equal(gateway.scheduler.claimed.length, 1);
  const left = await readdir(join(daemon.stateDir, 'runs'));
  assert.deepEqual(left, [`${run.id}.1.done`]);
});

test('after kill -9 nothing of a run is left, and the next daemon reports it as failed', async (t) => {
  const gateway = await fakeGateway(t);
  const daemon = await startDaemon(t, gateway);
  const run = await approvedRun(daemon, 'sleep 600 & trap "" TERM; echo $$ $! > pid; wait; sleep 600');
  gateway.scheduler.queue(run);
  const read = () => (existsSync(join(daemon.root, 'pid')) ? readFileSync(join(daemon.root, 'pid'), 'utf8') : '');
  await until(() => read().endsWith('\n'), 'the run started');
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  await until(() => !read().split(' ').map(Number).some(isAlive), 'its processes are gone without any daemon');
  restart(t, gateway, daemon);
  const { ok, error, attempt } = await gateway.scheduler.result(run);
  assert.deepEqual({ ok, error, attempt }, { ok: false, error: 'the daemon was restarted', attempt: 1 });
});

test('an outcome that could not be reported is reported by the next daemon', async (t) => {
  const gateway = await fakeGateway(t);
  gateway.scheduler.onResult = () => 503;
  const daemon = await startDaemon(t, gateway);
  const run = gateway.scheduler.queue(await approvedRun(daemon, 'echo finished'));
  await gateway.scheduler.result(run);
  daemon.process.kill('SIGKILL');
  await daemon.ended;
  gateway.scheduler.results.clear();
  gateway.scheduler.onResult = () => 200;
  restart(t, gateway, daemon);
  const { ok, log_tail } = await gateway.scheduler.result(run);
  assert.deepEqual([ok, log_tail], [true, 'finished\n']);
});

/** `SVC_TEST_KILLS=16` for more. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);

test('kill -9 at any instant never leads to two processes of an attempt, though it be offered again', {
  timeout: 60_000 + 30_000 * kills,
}, async (t) => {
  const gateway = await fakeGateway(t);
  let daemon = await startDaemon(t, gateway);
  await gateway.stream();
  const directory = { stateDir: daemon.stateDir, root: daemon.root };
  const runs = [];
  let started = 0;
  for (let round = 0; round < kills; round += 1) {
    // Each start of the command adds a line; two at once would both be alive.
    const id = randomUUID();
    const run = await approvedRun(daemon, `echo $$ >> starts.${id}; sleep 600`, { id });
    runs.push(run);
    const before = gateway.scheduler.claimed.length;
    gateway.scheduler.queue(run);
    await until(() => gateway.scheduler.claimed.length > before, 'the run was claimed');
    // From the very claim to well after the start, evenly spread.
    await new Promise((resolve) => setTimeout(resolve, (round % 8) * 15 + Math.random() * 15));
    daemon.process.kill('SIGKILL');
    await daemon.ended;
    gateway.scheduler.queue({ ...run });
    daemon = { ...restart(t, gateway, daemon), ...directory };
    await until(() => gateway.scheduler.claimed.length > before + 1, 'it was claimed again');
    // A run of its own shows that the daemon is past the one before.
    const marker = gateway.scheduler.queue(await approvedRun(daemon, 'true'));
    await gateway.scheduler.result(marker);
    const file = join(directory.root, `starts.${id}`);
    const pids = existsSync(file) ? (await readFile(file, 'utf8')).trim().split('\n').map(Number) : [];
    assert.ok(pids.length <= 1, `attempt started ${pids.length} times`);
    started += pids.length;
    daemon.process.kill('SIGKILL');
    await daemon.ended;
    await until(() => !pids.some(isAlive), 'its process is gone');
    daemon = { ...restart(t, gateway, daemon), ...directory };
  }
  t.diagnostic(`${started} of ${runs.length} attempts got as far as their command`);
});

test('a webhook is called from the machine: method, headers, body, status, time, https only', async (t) => {
  const directory = await temporaryDirectory(t);
  const [keyPath, certPath] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  execFileSync('openssl', [...request, '-keyout', keyPath, '-out', certPath, ...subject], { stdio: 'ignore' });
  const seen: string[] = [];
  const server = createServer(
    { key: await readFile(keyPath), cert: await readFile(certPath) },
    (incoming, response) => {
      let body = '';
      incoming.on('data', (chunk) => (body += String(chunk)));
      incoming.on('end', () => {
        seen.push(`${incoming.method} ${incoming.url} ${String(incoming.headers['x-mark'] ?? '-')} ${body}`);
        if (incoming.url === '/slow') return;
        if (incoming.url === '/plain') response.writeHead(302, { location: 'http://localhost/' }).end();
        else if (incoming.url === '/moved') response.writeHead(303, { location: '/fine' }).end();
        else if (incoming.url === '/echo') response.end(incoming.rawHeaders.join(' '));
        else response.writeHead(incoming.url === '/teapot' ? 418 : 200).end(`said ${incoming.url}`);
      });
    },
  );
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const gateway = await fakeGateway(t);
  await startDaemon(t, gateway, [], { NODE_EXTRA_CA_CERTS: certPath });
  const call = (path: string, spec: object = {}, changes: object = {}) => {
    const url = `https://localhost:${(server.address() as AddressInfo).port}${path}`;
    return gateway.scheduler.result(
      gateway.scheduler.queue(newRun({ kind: 'http', spec: { url, ...spec }, ...changes })),
    );
  };
  const put = { method: 'PUT', headers: { 'x-mark': 'm' }, body: 'hello' };
  assert.deepEqual(await call('/fine', put), { attempt: 1, ok: true, log_tail: 'said /fine' });
  assert.equal((await call('/moved')).log_tail, 'said /fine');
  assert.deepEqual(seen, ['PUT /fine m hello', 'POST /moved - ', 'GET /fine - ']);
  assert.equal((await call('/teapot')).error, 'answered 418, expected 2xx');
  assert.equal((await call('/teapot', { expect_status: 418 })).ok, true);
  assert.equal((await call('/slow', {}, { timeout_s: 1 })).error, 'timeout');
  const secrets = { Authorization: 'Bearer echoed-secret', accept: 'text/plain' };
  const echo = (await call('/echo', { method: 'GET', headers: secrets })).log_tail ?? '';
  assert.match(
    echo,
    /\[Authorization\].*text\/plain|text\/plain.*\[Authorization\]/,
    'a server that echoes has none kept',
  );
  assert.doesNotMatch(echo, /echoed-secret/);
  assert.equal((await call('/plain')).error, 'sent to http://, which is not https');
  assert.equal((await call('', { url: 'https://localhost:1/' })).error, 'the server took no connection');
  assert.match((await call('', { url: 'http://localhost/' })).error ?? '', /^spec: must be an https URL/);
});

/** A schedule as the gateway lists it. */
function newSchedule(spec: { command: string; [name: string]: unknown }, changes: object = {}) {
  return {
    id: randomUUID(),
    name: 'backup',
    enabled: true,
    kind: 'shell',
    spec,
    trigger: { type: 'cron', expr: '0 3 * * *' },
    target: { type: 'any' },
    command_hash: hashOf(spec),
    upcoming: [],
    approvals: [],
    created_at: new Date().toISOString(),
    updated_at: new Date().toISOString(),
    ...changes,
  };
}

/** Says y to what `svc host approve` asks on a terminal; answers all that it showed, line by line. */
async function approve(
  t: TestContext,
  gateway: FakeGateway,
  stateDir: string,
  named: string,
  code = 0,
): Promise<string[]> {
  const words = ['approve', '--state-dir', stateDir, '--url', gateway.url, named];
  const terminal = startOnTerminal(t, words, { SVC_API_KEY: testKey, HOME: stateDir });
  await terminal.shows('[y/N]');
  terminal.type('y\n');
  assert.equal(await terminal.ended, code, terminal.screen());
  return terminal.screen().split('\r\n');
}

test('a command is shown in full, without deceiving the terminal, and approved here before the gateway knows', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const daemon = await startDaemon(t, gateway);
  const device = (await gateway.stream()).deviceId;
  const hostile = 'rm -rf /\u001b[2K\recho nice\necho \u202emore';
  const schedule = newSchedule({ command: hostile, cwd: 'a\u0007b', env_names: ['T'], shell: 'sh' });
  scheduler.schedules = [schedule];
  const refused = command(t, gateway, daemon.stateDir, 'approve', 'backup');
  assert.equal(await refused.ended, 1);
  assert.match(refused.stderr(), /approvals are given at a terminal of this machine/);
  // As the relay could do it: the daemon's commands have no terminal, and nothing stands in for one.
  const { outcome } = gateway.exec('shell', {
    command: `${process.execPath} ${new URL('../main.ts', import.meta.url).pathname} approve --yes backup --key ${testKey} --state-dir ${daemon.stateDir} --url ${gateway.url} </dev/null`,
  });
  const relayed = (await outcome).result as { exit_code: number; stderr: string };
  assert.deepEqual([relayed.exit_code, /given at a terminal/.test(relayed.stderr)], [1, true], relayed.stderr);
  assert.equal(scheduler.approved.length, 0);
  assert.deepEqual((await approve(t, gateway, daemon.stateDir, 'backup')).slice(1, 6), [
    'shell     sh',
    'cwd       a\\u{7}b',
    'env       T',
    'command   rm -rf /\\u{1b}[2K\\u{d}echo nice',
    '        | echo \\u{202e}more',
  ]);
  assert.deepEqual(scheduler.approved, [{ id: schedule.id, device, command_hash: schedule.command_hash }]);
  const path = join(daemon.stateDir, 'approvals.json');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.match(await readFile(path, 'utf8'), new RegExp(schedule.command_hash));
  const listed = command(t, gateway, daemon.stateDir, 'approve', '--list');
  assert.equal(await listed.ended, 0);
  assert.match(listed.stdout(), new RegExp(`^${schedule.id}  approved here only  backup\n$`));
  const revoked = command(t, gateway, daemon.stateDir, 'approve', '--revoke', 'backup');
  assert.equal(await revoked.ended, 0, revoked.stderr());
  assert.doesNotMatch(await readFile(path, 'utf8'), new RegExp(schedule.command_hash));
  assert.deepEqual(scheduler.approved.at(-1), { id: schedule.id, device, revoked: true });
});

test('the question is answered at the terminal', async (t) => {
  const gateway = await fakeGateway(t);
  const stateDir = await temporaryDirectory(t);
  const schedule = newSchedule({ command: 'echo fine' });
  gateway.scheduler.schedules = [schedule];
  for (const [typed, approved] of [
    ['n', []],
    ['y', [schedule.command_hash]],
  ] as const) {
    const words = ['approve', '--state-dir', stateDir, '--url', gateway.url];
    const terminal = startOnTerminal(t, words, { HOME: stateDir, SVC_API_KEY: testKey });
    await terminal.shows('may this host run it for "backup"? [y/N]');
    assert.match(terminal.screen(), /command {3}echo fine/);
    terminal.type(`${typed}\n`);
    await terminal.ended;
    const list = await openApprovals(join(stateDir, 'approvals.json')).list();
    assert.deepEqual(
      list.map(({ command_hash }) => command_hash),
      approved,
    );
  }
});

test('an approval holds only for what was shown: a changed or misnamed command is refused and explained', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const stateDir = await temporaryDirectory(t);
  const schedule = newSchedule({ command: 'echo fine' });
  scheduler.schedules = [
    schedule,
    newSchedule({ command: 'echo other' }, { name: 'twin' }),
    newSchedule({ command: 'x' }, { name: 'twin' }),
  ];
  const attempt = async (...words: string[]) => {
    const ran = command(t, gateway, stateDir, 'approve', ...words);
    assert.equal(await ran.ended, 1);
    return ran.stderr();
  };
  scheduler.onApprove = () => 409;
  assert.match(
    (await approve(t, gateway, stateDir, 'backup', 1)).join('\n'),
    /the command was changed after it was shown; nothing is approved, look again/,
  );
  assert.match(await attempt('twin'), /names 2 schedules/);
  assert.match(await attempt('absent'), /no schedule that needs an approval is called "absent"/);
  schedule.command_hash = hashOf({ command: 'something else' });
  assert.match(await attempt(schedule.id), /hash is not that of the command it shows/);
  const approvals = openApprovals(join(stateDir, 'approvals.json'));
  assert.deepEqual(await approvals.list(), []);
});

test('a run goes only after the approval at the machine, and stops with its withdrawal', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const daemon = await startDaemon(t, gateway);
  const device = (await gateway.stream()).deviceId;
  const schedule = newSchedule({ command: 'echo ran' }, { target: { type: 'host', device_id: device } });
  scheduler.schedules = [schedule];
  scheduler.changed();
  await daemon.says(`"backup" waits for this host to approve its command: svc host approve ${schedule.id}`);
  const resultNow = async () => {
    const run = newRun({ kind: 'shell', spec: schedule.spec, schedule_id: schedule.id });
    return scheduler.result(scheduler.queue(run));
  };
  assert.match((await resultNow()).error ?? '', /^command_not_approved/);
  await approve(t, gateway, daemon.stateDir, schedule.id);
  assert.equal((await resultNow()).log_tail, 'ran\n');
  await command(t, gateway, daemon.stateDir, 'approve', '--revoke', schedule.id).ended;
  assert.match((await resultNow()).error ?? '', /^command_not_approved/);
});

test('a prompt is shown, approved at the machine alone, and given to the agent from then on', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const daemon = await startDaemon(t, gateway);
  const device = (await gateway.stream()).deviceId;
  const policy = { roots: [daemon.root], ops: { shell: 'ask' }, agent: { command: ['cat'] } };
  await writeFile(join(daemon.stateDir, 'host.json'), JSON.stringify(policy));
  const { command_hash: _, ...schedule } = newSchedule(
    { command: '' },
    { target: { type: 'host', device_id: device } },
  );
  const spec = { prompt: 'look around\nand tidy', permissions: 'edit' };
  scheduler.schedules = [{ ...schedule, kind: 'agent', spec }];
  scheduler.changed();
  await daemon.says(`"backup" waits for this host to approve its prompt: svc host approve ${schedule.id}`);
  const resultNow = async () =>
    scheduler.result(scheduler.queue(newRun({ kind: 'agent', spec, schedule_id: schedule.id })));
  assert.match((await resultNow()).error ?? '', /^prompt_not_approved: run "svc host approve"/);
  const asked = () => scheduler.claims.filter(({ again }) => again === true).length;
  const before = asked();
  const shown = await approve(t, gateway, daemon.stateDir, 'backup');
  assert.deepEqual(shown.slice(1, 5), [
    'skill     (none)',
    'may       edit',
    'prompt    look around',
    '        | and tidy',
  ]);
  assert.deepEqual(scheduler.approved, []);
  await until(() => asked() > before, 'it asks again for what it handed back');
  assert.equal((await resultNow()).log_tail, 'look around\nand tidy');
  const listed = command(t, gateway, daemon.stateDir, 'approve', '--list');
  await listed.ended;
  assert.match(listed.stdout(), /  approved  backup\n$/);
});
