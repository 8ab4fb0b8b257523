import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { createProcessGroups } from '../groups.ts';
import type { Policy } from '../policy.ts';
import { isAlive, policyOf, temporaryDirectory, until } from '../testing.ts';
import { type FakeGateway, fakeGateway, testKey } from '../testing.gateway.ts';
import { hashOf, newRun } from '../testing.scheduler.ts';
import { hashPrompt, openApprovals } from './approvals.ts';
import type { ClaimedRun, Machine } from './context.ts';
import { openJournal } from './journal.ts';
import type { RunTiming } from './lease.ts';
import { createRunner, type Runner } from './runner.ts';

/** Nothing here waits for the end of a lease or of a call, but where a test says so. */
const timing: RunTiming = { heartbeatMs: 50, leaseMs: 60_000, retryMs: [20, 100], callMs: 30_000 };

interface Bench {
  gateway: FakeGateway;
  runner: Runner;
  root: string;
  state: string;
  machine: Machine;
  logged: string[];
  /** Approves the command of a run at the machine. */
  approve(run: ClaimedRun): Promise<void>;
  /** Runs a shell command that was approved; answers the run. */
  shell(command: string, spec?: object, run?: Partial<ClaimedRun>): Promise<ClaimedRun>;
}

async function bench(
  t: TestContext,
  policy: Partial<Policy> = {},
  changes: Partial<Machine> = {},
  times: Partial<RunTiming> = {},
): Promise<Bench> {
  const gateway = await fakeGateway(t);
  const [root, state] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  const client = createClient({ baseUrl: gateway.url, apiKey: testKey, retries: 0 });
  const machine: Machine = {
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: root, UNNAMED: 'secret-of-the-daemon' },
    secretsPath: join(state, 'secrets.json'),
    key: testKey,
    approvals: openApprovals(join(state, 'approvals.json')),
    groups: createProcessGroups(),
    hidden: [state],
    reportDirectory: join(state, 'runs'),
    killAfterMs: 200,
    ...changes,
  };
  const approve = async ({ schedule_id, name, command_hash }: ClaimedRun) => {
    const approval = { schedule_id, name, approved_at: new Date().toISOString() };
    await machine.approvals.add({ ...approval, command_hash: command_hash as string });
  };
  const logged: string[] = [];
  const current = async () => policyOf({ roots: [root], ...policy });
  const end = new AbortController();
  const runner = createRunner(
    {
      client,
      journal: await openJournal(join(state, 'runs')),
      machine,
      policy: { current },
      timing: { ...timing, ...times },
      log: (text) => void logged.push(text),
      ranNatively: async () => undefined,
    },
    end.signal,
  );
  t.after(async () => {
    end.abort();
    await runner.stop();
  });
  return {
    gateway,
    runner,
    root,
    state,
    machine,
    logged,
    approve,
    async shell(command, spec = {}, run = {}) {
      const made = newRun({ kind: 'shell', spec: { command, ...spec }, ...run });
      await approve(made);
      runner.start(made);
      return made;
    },
  };
}

const resultOf = async (b: Bench, run: Promise<ClaimedRun>) => b.gateway.scheduler.result(await run);

async function pidIn(root: string): Promise<number> {
  const read = async () => Number(await readFile(join(root, 'pid'), 'utf8').catch(() => '0'));
  await until(async () => (await read()) > 0, 'the command wrote its pid');
  return read();
}

/** Says its pid, has a child, ignores SIGTERM with it and goes on for ever. */
/** Its shell, what it left in the background, and what it just started: no process of ours. */
const assertEnded = (processes: number | undefined) => {
  if (process.platform === 'linux') assert.ok(processes === 2 || processes === 3, `${processes} ended`);
};
const stubborn = 'trap "" TERM; sleep 600 & echo $! > child; echo $$ > pid; while :; do sleep 1; done';

test('a command runs in the first root; its output in order and its exit code are reported', async (t) => {
  const b = await bench(t);
  const result = await resultOf(b, b.shell('echo one; echo two >&2; echo three; pwd; exit 3'));
  assert.deepEqual(result, {
    attempt: 1,
    ok: false,
    exit_code: 3,
    error: 'exit code 3',
    log_tail: `one\ntwo\nthree\n${b.root}\n`,
  });
  const fine = await resultOf(b, b.shell('true'));
  assert.deepEqual(fine, { attempt: 1, ok: true, exit_code: 0, log_tail: '' });
  await b.runner.idle();
  assert.deepEqual(await readJournal(b), []);
});

const readJournal = async (b: Bench) => (await openJournal(join(b.state, 'runs'))).entries();

test('a run that goes on is kept by heartbeats that show its output', async (t) => {
  const b = await bench(t);
  const run = await b.shell('echo begun; until [ -e stop ]; do sleep 0.02; done');
  const beats = () => b.gateway.scheduler.heartbeats.get(run.id) ?? [];
  await until(() => beats().length > 20 && beats().at(-1)?.['log_tail'] === 'begun\n', 'heartbeats');
  await writeFile(join(b.root, 'stop'), '');
  assert.equal((await b.gateway.scheduler.result(run)).ok, true);
});

test('a run over its time is killed whole, also when it ignores SIGTERM', async (t) => {
  const b = await bench(t);
  const run = b.shell(stubborn, {}, { timeout_s: 3 });
  const pid = await pidIn(b.root);
  const { ok, error, exit_code, ended_processes } = await resultOf(b, run);
  assert.deepEqual({ ok, error, exit_code }, { ok: false, error: 'timeout', exit_code: undefined });
  assertEnded(ended_processes);
  const child = Number(await readFile(join(b.root, 'child'), 'utf8'));
  assert.deepEqual([isAlive(pid), isAlive(child)], [false, false]);
});

for (const [what, answer] of [
  ['a run that another attempt holds', 409],
  ['a run that is gone', 404],
] as const) {
  test(`${what} is killed whole and not reported`, async (t) => {
    const b = await bench(t);
    const run = await b.shell(stubborn);
    const pid = await pidIn(b.root);
    b.gateway.scheduler.onHeartbeat = () => answer;
    await b.runner.idle();
    const child = Number(await readFile(join(b.root, 'child'), 'utf8'));
    assert.deepEqual([isAlive(pid), isAlive(child)], [false, false]);
    assert.equal(b.gateway.scheduler.results.get(run.id), undefined);
    assert.deepEqual(await readJournal(b), []);
  });
}

for (const status of [200, 409]) {
  test(`a cancelled run is killed whole, and only then reported as ended; the gateway says ${status}`, async (t) => {
    const b = await bench(t);
    const run = await b.shell(stubborn);
    const pid = await pidIn(b.root);
    const child = Number(await readFile(join(b.root, 'child'), 'utf8'));
    let alive: boolean[] = [];
    b.gateway.scheduler.onResult = () => {
      alive = [isAlive(pid), isAlive(child)];
      return status;
    };
    b.gateway.scheduler.onHeartbeat = () => ({ cancel: true, lease_expires_at: new Date().toISOString() });
    const { ok, error, ended_processes } = await b.gateway.scheduler.result(run);
    assert.deepEqual({ ok, error, alive }, { ok: false, error: 'cancelled', alive: [false, false] });
    assertEnded(ended_processes);
    await b.runner.idle();
    assert.deepEqual([await readJournal(b), b.logged], [[], []]);
  });
}

test('a run that is looked at is asked about at once, one that is not waits for its heartbeat', async (t) => {
  const b = await bench(t, {}, {}, { heartbeatMs: 600_000, leaseMs: 1_200_000 });
  const [looked, other] = [await b.shell(stubborn), await b.shell('sleep 600')];
  await pidIn(b.root);
  b.gateway.scheduler.onHeartbeat = () => ({ cancel: true, lease_expires_at: new Date().toISOString() });
  b.runner.look(looked.id);
  assert.equal((await b.gateway.scheduler.result(looked)).error, 'cancelled');
  assert.equal(b.gateway.scheduler.heartbeats.get(other.id), undefined);
  b.runner.look();
  assert.equal((await b.gateway.scheduler.result(other)).error, 'cancelled');
});

test('the lease counts from when its claim was sent, however late the answer came', async (t) => {
  const b = await bench(t, {}, {}, { heartbeatMs: 20_000, leaseMs: 55_000, callMs: 500 });
  b.gateway.intercept = (request) => request.url?.endsWith('/heartbeat') === true;
  const made = newRun({ kind: 'shell', spec: { command: stubborn } });
  await b.approve(made);
  b.runner.start(made, performance.now() - 54_000);
  await b.runner.idle();
  assert.match(b.logged.join('\n'), /was ended: lease_lost/);
  assert.equal(b.gateway.scheduler.results.get(made.id), undefined);
});

test('a run is killed before its lease runs out when the gateway is out of reach', async (t) => {
  const b = await bench(t, {}, {}, { leaseMs: 2_000, callMs: 1_500 });
  await b.shell(stubborn);
  const pid = await pidIn(b.root);
  await b.gateway.stop();
  await until(() => !isAlive(pid), 'the run was killed');
  await b.runner.idle();
  assert.match(b.logged.join('\n'), /was ended: lease_lost/);
});

test('a result is sent again until the gateway takes it, without what it refuses', async (t) => {
  const b = await bench(t);
  let calls = 0;
  b.gateway.scheduler.onResult = (_, body) => {
    calls += 1;
    if (calls < 3) return 503;
    return body.log_tail === undefined ? 200 : 400;
  };
  const run = await b.shell('echo x; exit 4');
  await b.runner.idle();
  const results = b.gateway.scheduler.results.get(run.id) ?? [];
  assert.deepEqual(results.at(-1), { attempt: 1, ok: false, exit_code: 4, error: 'exit code 4' });
  assert.equal(results.length, 4);
});

test('a command that was not approved here, or is not that of its hash, is not run', async (t) => {
  const b = await bench(t);
  const unknown = newRun({ kind: 'shell', spec: { command: 'touch ran' } });
  b.runner.start(unknown);
  const handedBack = await b.gateway.scheduler.result(unknown);
  assert.match(handedBack.error ?? '', /^command_not_approved: .*svc host approve/);
  assert.equal(handedBack.not_started, 'not_approved');
  assert.match(b.logged.join('\n'), new RegExp(`handed back: .* svc host approve ${unknown.schedule_id}`));
  const approved = await b.shell('echo approved');
  await b.gateway.scheduler.result(approved);
  // The gateway says the approved hash and sends another command.
  const { command_hash, schedule_id } = approved;
  for (const hash of [command_hash, undefined]) {
    const forged = newRun({ kind: 'shell', spec: { command: 'touch ran' }, schedule_id, command_hash: hash });
    b.runner.start(forged);
    assert.match((await b.gateway.scheduler.result(forged)).error ?? '', /^hash_mismatch/);
  }
  // The approval of one schedule does not count for another.
  const other = newRun({ kind: 'shell', spec: { command: 'echo approved' } });
  b.runner.start(other);
  assert.match((await b.gateway.scheduler.result(other)).error ?? '', /^command_not_approved/);
  assert.equal(existsSync(join(b.root, 'ran')), false);
});

test('what a command cannot be run with is named', async (t) => {
  const b = await bench(t);
  await mkdir(join(b.root, 'below'));
  const errorOf = async (spec: object) => (await resultOf(b, b.shell('pwd', spec))).error;
  assert.equal(await errorOf({ cwd: 'below' }), undefined);
  assert.equal(await errorOf({ cwd: '/etc' }), 'cwd: outside_roots');
  assert.equal(await errorOf({ cwd: 'below/../..' }), 'cwd: outside_roots');
  assert.equal(await errorOf({ cwd: 'absent' }), 'cwd: not_found');
  assert.equal(await errorOf({ shell: 'no-such-shell' }), 'the program no-such-shell is not on this host');
  assert.equal(await errorOf({ shell: '/no/such' }), 'the program /no/such is not on this host');
  assert.equal(await errorOf({ shell: 'bin/sh' }), 'shell: not a program name or path');
  assert.equal(await errorOf({ shell: 'sh -x' }), 'shell: not a program name or path');
  assert.equal(await errorOf({ shell: '/bin/bash' }), undefined);
  assert.equal(await errorOf({ env_names: ['ABSENT'] }), 'the variable ABSENT is not set on this host');
  const long = await resultOf(b, b.shell(`: ${'ä'.repeat(65_000)}ä`));
  assert.match(long.error ?? 'none', /none|too long/);
});

test('a huge output is shown by its end, never cut within a character, and has a hash that ignores times', async (t) => {
  const b = await bench(t);
  const command = 'date +%FT%T.%N; i=0; while [ $i -lt 20000 ]; do echo "🙂 line $i"; i=$((i+1)); done; printf last';
  const [first, second] = [await resultOf(b, b.shell(command)), await resultOf(b, b.shell(command))];
  assert.ok(first.log_tail?.endsWith('line 19999\nlast'));
  assert.ok((first.log_tail?.length ?? 0) > 65_000 && (first.log_tail?.length ?? 0) <= 65_536);
  assert.ok(first.log_tail?.isWellFormed());
  assert.match(first.output_hash ?? '', /^2:[0-9a-f]{64}$/);
  assert.equal(first.output_hash, second.output_hash);
  const other = await resultOf(b, b.shell(command.replace('last', 'more')));
  assert.notEqual(other.output_hash, first.output_hash);
});

test('what the schedule ignores does not count in the hash of a run', async (t) => {
  const b = await bench(t);
  const command = 'printf %070000d 1; echo; echo "loop of $$"';
  const run = () => resultOf(b, b.shell(command, {}, { ignore: ['loop of #'] }));
  const [first, second] = [await run(), await run()];
  assert.notEqual(first.log_tail, second.log_tail);
  assert.match(first.output_hash ?? '', /^2\+/);
  assert.equal(first.output_hash, second.output_hash);
});

test('binary output becomes text without NUL', async (t) => {
  const b = await bench(t);
  const { log_tail } = await resultOf(b, b.shell(String.raw`printf 'a\0b\377\376\360\237\231\202\360\237c'`));
  assert.equal(log_tail, 'a\uFFFDb\uFFFD\uFFFD🙂\uFFFDc');
});

test('a child left in the background does not hold the run open, stays and writes on, with setsid and without', async (t) => {
  const b = await bench(t);
  for (const way of ['', 'setsid ', 'nohup ']) {
    const loop = 'echo $$ > pid; until [ -e go ]; do sleep 0.02; done; echo more; touch written; exec sleep 600';
    const result = await resultOf(b, b.shell(`rm -f pid go written; ${way}sh -c '${loop}' & echo done`));
    assert.equal(result.ok, true, way);
    assert.match(result.log_tail ?? '', /done\n/);
    const pid = await pidIn(b.root);
    t.after(() => process.kill(pid, 'SIGKILL'));
    await writeFile(join(b.root, 'go'), '');
    await until(() => existsSync(join(b.root, 'written')), `${way}it wrote on`);
    assert.equal(isAlive(pid), true, way);
  }
});

test('a command gets the variables it names and no others, and their values are not sent', async (t) => {
  const b = await bench(t);
  const secrets = JSON.stringify({ TOKEN: 'tok-12345678', LINES: 'first-line-of-key\nsecond-line-of-key', SHORT: '1' });
  await writeFile(b.machine.secretsPath, secrets, { mode: 0o600 });
  // Written in pieces, so that a value comes in two reads.
  const command = `env | grep -c UNNAMED; echo "$SHORT"; printf %s tok-1234; sleep 0.2; echo 5678; echo "$LINES" | tail -1
    echo ${testKey}; touch slept; echo "$TOKEN$TOKEN"`;
  const run = await b.shell(command, { env_names: ['TOKEN', 'LINES', 'SHORT'] });
  const { log_tail } = await b.gateway.scheduler.result(run);
  assert.equal(log_tail, '0\n1\n[TOKEN]\n[LINES]\n[key]\n[TOKEN][TOKEN]\n');
  for (const beat of b.gateway.scheduler.heartbeats.get(run.id) ?? []) {
    assert.doesNotMatch(JSON.stringify(beat), /tok-/);
  }
  const named = await resultOf(b, b.shell('echo "<$UNNAMED>"', { env_names: ['UNNAMED'] }));
  assert.equal(named.log_tail, '<[UNNAMED]>\n');
  await writeFile(b.machine.secretsPath, '{"TOKEN": tok-12345678');
  const damaged = await resultOf(b, b.shell('true', { env_names: ['TOKEN'] }));
  assert.equal(damaged.error, 'secrets.json is not an object of names and texts');
});

test('an agent gets the prompt on standard input and says its cost and session in a file', async (t) => {
  const agent = { command: ['/bin/sh', 'agent.sh', 'a b'], env_names: ['UNNAMED'], ask: false };
  const b = await bench(t, { agent });
  await writeFile(
    join(b.root, 'agent.sh'),
    `printf '%s|' "$1" "$SVC_SKILL" "$SVC_PERMISSIONS" "$SVC_RUN_ATTEMPT" "$(cat)"
     echo '{"cost_micro_usd": 5}' > "$SVC_RUN_REPORT"; until [ -e go ]; do sleep 0.02; done
     echo '{"cost_micro_usd": 1200.4, "session_id": "0190A0A0-0000-7000-8000-000000000000"}' >> "$SVC_RUN_REPORT"`,
  );
  const run = newRun({
    kind: 'agent',
    spec: { prompt: 'do it', skill: 'tidy', permissions: ['read', 'pr'] },
    attempt: 2,
  });
  b.runner.start(run);
  const beats = () => b.gateway.scheduler.heartbeats.get(run.id) ?? [];
  await until(() => beats().some((beat) => beat['cost_micro_usd'] === 5), 'a heartbeat with the cost');
  await writeFile(join(b.root, 'go'), '');
  assert.deepEqual(await b.gateway.scheduler.result(run), {
    attempt: 2,
    ok: true,
    exit_code: 0,
    cost_micro_usd: 1200,
    session_id: '0190a0a0-0000-7000-8000-000000000000',
    log_tail: 'a b|tidy|read,pr|2|do it|',
  });
});

test('where prompts are asked about an agent gets the one that was approved, with its skill and permissions, and no other', async (t) => {
  const b = await bench(t, { agent: { command: ['cat'], ask: true } });
  const spec = { prompt: 'tidy up', skill: 'tidy', permissions: ['read' as const] };
  const run = newRun({ kind: 'agent', spec });
  const resultOf = async (changes: object) => {
    const next = newRun({ kind: 'agent', spec: { ...spec, ...changes }, schedule_id: run.schedule_id });
    b.runner.start(next);
    const { ok, error, log_tail } = await b.gateway.scheduler.result(next);
    return ok ? log_tail : error;
  };
  const refused = 'prompt_not_approved: run "svc host approve" on this host';
  assert.equal(await resultOf({}), refused);
  const approval = { schedule_id: run.schedule_id, name: 'x', approved_at: new Date().toISOString() };
  await b.machine.approvals.add({ ...approval, command_hash: hashPrompt(spec) });
  assert.equal(await resultOf({}), 'tidy up');
  for (const change of [{ prompt: 'tidy up and more' }, { skill: 'other' }, { permissions: ['read', 'edit'] }]) {
    assert.equal(await resultOf(change), refused, JSON.stringify(change));
  }
  // The approval of a command does not allow a prompt.
  await b.machine.approvals.add({ ...approval, command_hash: hashOf({ command: 'tidy up' }) });
  assert.equal(await resultOf({}), refused);
});

test('an agent that does not read its prompt fails by its exit code alone', async (t) => {
  const b = await bench(t, { agent: { command: ['false'], ask: false } });
  const run = newRun({ kind: 'agent', spec: { prompt: 'x'.repeat(100_000) } });
  b.runner.start(run);
  assert.equal((await b.gateway.scheduler.result(run)).error, 'exit code 1');
  const phone = newRun({ kind: 'phone_action', spec: { action: 'wifi', params: { on: true } } });
  b.runner.start(phone);
  assert.equal((await b.gateway.scheduler.result(phone)).error, 'this host does not run phone_action');
});

test('an attempt in the journal is not started again', async (t) => {
  const b = await bench(t);
  const journal = await openJournal(join(b.state, 'runs'));
  const run = newRun({ kind: 'shell', spec: { command: 'touch ran' } });
  await journal.begin(run.id, run.attempt, run.schedule_id);
  await b.shell('touch ran', {}, run);
  await b.runner.idle();
  assert.match(b.logged.join(), /begun before/);
  assert.equal(existsSync(join(b.root, 'ran')), false);
});

test('stopping ends what runs and reports it', async (t) => {
  const b = await bench(t);
  const run = await b.shell(stubborn);
  const pid = await pidIn(b.root);
  await b.runner.stop();
  await until(() => !isAlive(pid), 'the command is dead');
  const { ok, error } = await b.gateway.scheduler.result(run);
  assert.deepEqual({ ok, error }, { ok: false, error: 'the daemon was stopped' });
});

test('all that a run writes is sent as it comes and before its result, without secrets, whatever the gateway misses', async (t) => {
  const b = await bench(t);
  const { scheduler } = b.gateway;
  let calls = 0;
  scheduler.onLog = () => {
    calls += 1;
    return calls % 2 === 1 ? 503 : 200;
  };
  const command = `echo "key ${testKey} 🙂"; until [ -e go ]; do sleep 0.02; done
i=0; while [ $i -lt 20000 ]; do echo "🙂 line $i"; i=$((i+1)); done; printf last`;
  const run = await b.shell(command);
  const key = `${run.id}.1`;
  await until(() => scheduler.logs.get(key) === 'key [key] 🙂\n', 'what it wrote so far');
  let complete = false;
  scheduler.onResult = () => {
    complete = scheduler.logs.get(key)?.endsWith('line 19999\nlast') === true;
    return 200;
  };
  await writeFile(join(b.root, 'go'), '');
  await b.gateway.scheduler.result(run);
  const lines = Array.from({ length: 20_000 }, (_, at) => `🙂 line ${at}\n`).join('');
  await until(() => scheduler.logs.get(key) === `key [key] 🙂\n${lines}last`, 'all of it');
  assert.ok(complete || calls > 2);
});

for (const status of [404, 409, 400]) {
  test(`a gateway that refuses logs with ${status} is sent no more of them, and the run goes on`, async (t) => {
    const b = await bench(t);
    let calls = 0;
    b.gateway.scheduler.onLog = () => {
      calls += 1;
      return status;
    };
    const run = await b.shell('echo one; sleep 1; echo two');
    assert.equal((await b.gateway.scheduler.result(run)).ok, true);
    await b.runner.idle();
    assert.deepEqual(
      [calls, b.logged.filter((line) => line.includes('is kept no further')).length],
      [1, status === 400 ? 1 : 0],
    );
  });
}
