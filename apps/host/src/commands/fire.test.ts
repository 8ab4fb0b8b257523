import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { writeCache } from '../native/cache.ts';
import { openApprovals } from '../runs/approvals.ts';
import { startCommand, startDaemon, temporaryDirectory, until } from '../testing.ts';
import { type FakeGateway, fakeGateway, testKey } from '../testing.gateway.ts';
import { hashOf, newRun } from '../testing.scheduler.ts';

/** A schedule of this machine with a slot that has just come, as the gateway lists it. */
function newNative(command: string, deviceId: string, changes: object = {}) {
  const spec = { command };
  const now = Date.now();
  return {
    id: randomUUID(),
    name: 'native',
    enabled: true,
    native: true,
    kind: 'shell' as const,
    spec,
    command_hash: hashOf(spec),
    trigger: { type: 'interval', every_s: 3600 },
    target: { type: 'host', device_id: deviceId },
    timeout_s: 60,
    upcoming: [new Date(now - 2000).toISOString(), new Date(now + 3_600_000).toISOString()],
    approvals: [],
    created_at: new Date(now).toISOString(),
    updated_at: new Date(now).toISOString(),
    ...changes,
  };
}

type Native = ReturnType<typeof newNative>;

/** A machine without a daemon that knows `schedule`. */
async function machine(t: TestContext, gateway: FakeGateway, schedule: Native, cached = true) {
  const [stateDir, root] = [await temporaryDirectory(t), await temporaryDirectory(t)];
  await writeFile(join(stateDir, 'host.json'), JSON.stringify({ roots: [root] }));
  await approveIn(stateDir, schedule);
  if (cached) await writeCache(stateDir, { paused: false, schedules: [schedule] });
  const fire = async (...words: string[]) => {
    const common = ['--state-dir', stateDir, '--url', gateway.url];
    const ran = startCommand(t, ['fire', schedule.id, ...common, ...words], { HOME: root });
    assert.equal(await ran.ended, 0, ran.stderr());
    return ran.stdout().trim();
  };
  return { stateDir, root, fire };
}

async function approveIn(stateDir: string, schedule: Native): Promise<void> {
  const { id, name, command_hash } = schedule;
  const approval = { schedule_id: id, name, command_hash, approved_at: new Date().toISOString() };
  await openApprovals(join(stateDir, 'approvals.json')).add(approval);
}

/** Starts a daemon on a machine that has a fake `crontab`, so that the tester's real one stays as it is. */
async function startNative(t: TestContext, gateway: FakeGateway, stateDir: string, root: string) {
  const tools = await temporaryDirectory(t);
  const table = join(tools, 'table');
  const script = `#!/bin/sh\ncase "$1" in -l) cat ${table} 2>/dev/null || { echo "no crontab for x" >&2; exit 1; } ;; -) cat > ${table} ;; -r) rm ${table} ;; esac\n`;
  await writeFile(join(tools, 'crontab'), script);
  await chmod(join(tools, 'crontab'), 0o755);
  const words = ['run', '--state-dir', stateDir, '--url', gateway.url, '--roots', root];
  const env = { SVC_API_KEY: testKey, HOME: root, PATH: `${tools}:/usr/local/bin:/usr/bin:/bin` };
  const daemon = startCommand(t, words, env);
  return { daemon, crontab: () => readFile(table, 'utf8').catch(() => '') };
}

test('without a gateway the slot that is due is run once, and told when the gateway is back', async (t) => {
  const gateway = await fakeGateway(t);
  const schedule = newNative('echo x >> ran; echo native; exit 3', randomUUID());
  const { stateDir, root, fire } = await machine(t, gateway, schedule);
  await gateway.stop();
  const outcomes = await Promise.all([fire(), fire(), fire()]);
  const ran = outcomes.filter((said) => said === 'the slot failed: exit code 3');
  assert.equal(ran.length, 1, outcomes.join());
  assert.equal(await fire(), 'the slot was run before');
  assert.equal(await readFile(join(root, 'ran'), 'utf8'), 'x\n');
  await gateway.start();
  const { daemon } = await startNative(t, gateway, stateDir, root);
  await daemon.says('connected as');
  await until(() => gateway.scheduler.native.length > 0, 'it was told');
  const { started_at, finished_at, ...told } = gateway.scheduler.native[0] ?? {};
  assert.deepEqual(told, {
    schedule_id: schedule.id,
    scheduled_for: schedule.upcoming[0],
    ok: false,
    exit_code: 3,
    error: 'exit code 3',
    log_tail: 'native\n',
  });
  assert.ok(Date.parse(String(started_at)) <= Date.parse(String(finished_at)));
});

test('nothing is run that is not due, paused, of another schedule or not approved', async (t) => {
  const gateway = await fakeGateway(t);
  await gateway.stop();
  const schedule = newNative('echo x >> ran', randomUUID());
  const { stateDir, root, fire } = await machine(t, gateway, schedule);
  const cacheOf = (changes: object, more: object = {}) =>
    writeCache(stateDir, { paused: false, schedules: [{ ...schedule, ...changes }], ...more });
  await cacheOf({}, { paused: true });
  assert.equal(await fire(), 'schedules are paused');
  await cacheOf({ id: randomUUID() });
  assert.equal(await fire(), 'it is not a schedule of this machine');
  for (const ms of [-11 * 60_000, 60_000]) {
    await cacheOf({ upcoming: [new Date(Date.now() + ms).toISOString()] });
    assert.equal(await fire(), 'no slot is due');
  }
  await cacheOf({ spec: { command: 'echo forged >> ran' } });
  assert.match(await fire(), /hash_mismatch/);
  await cacheOf({ upcoming: [new Date(Date.now() - 1000).toISOString()] });
  await openApprovals(join(stateDir, 'approvals.json')).remove(schedule.id);
  assert.match(await fire(), /command_not_approved/);
  await assert.rejects(readFile(join(root, 'ran')));
});

test('a slot that the machine ran by itself is not run again when its run is claimed, but reported as that run', async (t) => {
  const gateway = await fakeGateway(t);
  const schedule = newNative('echo x >> ran; until [ -e go ]; do sleep 0.05; done; echo native', randomUUID());
  const { stateDir, root, fire } = await machine(t, gateway, schedule);
  await gateway.stop();
  const firing = fire();
  await until(async () => (await readFile(join(root, 'ran'), 'utf8').catch(() => '')) !== '', 'the slot runs');
  await gateway.start();
  // It is in no list any more: what the machine did of it counts nevertheless.
  const { spec, command_hash, id } = schedule;
  const slot = schedule.upcoming[0] as string;
  const run = newRun({ kind: 'shell', spec, command_hash, schedule_id: id, scheduled_for: slot });
  gateway.scheduler.queue(run);
  const { daemon } = await startNative(t, gateway, stateDir, root);
  await until(() => gateway.scheduler.claimed.length > 0, 'the run was claimed');
  await daemon.says('connected as');
  await writeFile(join(root, 'go'), '');
  assert.equal(await firing, 'the slot was run');
  assert.deepEqual(await gateway.scheduler.result(run), { attempt: 1, ok: true, exit_code: 0, log_tail: 'native\n' });
  assert.equal(await readFile(join(root, 'ran'), 'utf8'), 'x\n');
});

test('a connected daemon keeps the system’s scheduler as the schedules are, and claims slots itself', async (t) => {
  const gateway = await fakeGateway(t);
  const { scheduler } = gateway;
  const first = await startDaemon(t, gateway);
  const deviceId = (await gateway.stream()).deviceId;
  first.process.kill('SIGTERM');
  await first.ended;
  const { stateDir, root } = first;
  const schedule = newNative('echo x >> ran', deviceId);
  await approveIn(stateDir, schedule);
  const refused = [{ native: false }, { enabled: false }, { target: { type: 'host', device_id: randomUUID() } }];
  const others = [...refused, { policy: { approval: 'always' } }].map((changes) => newNative('x', deviceId, changes));
  scheduler.schedules = [schedule, ...others];
  const { crontab } = await startNative(t, gateway, stateDir, root);
  await until(async () => (await crontab()).includes(schedule.id), 'the entry is there');
  assert.equal((await crontab()).match(/'fire'/g)?.length, 1);
  const [, words = ''] = /^\* \* \* \* \* (.*) >\/dev\/null/m.exec(await crontab()) ?? [];
  assert.match(words, new RegExp(`^'/.*/svc' 'host' 'fire' '${schedule.id}' '--url' '${gateway.url}' '--state-dir'`));
  assert.doesNotMatch(words, /svc_/);
  const fire = startCommand(t, ['fire', schedule.id, '--state-dir', stateDir, '--url', gateway.url], { HOME: root });
  await fire.ended;
  assert.equal(fire.stdout(), 'the daemon claims it\n');
  // The slot belongs to the claimed run from then on, also when the gateway is lost while it runs.
  const { id, spec, command_hash } = schedule;
  const run = newRun({
    kind: 'shell',
    spec,
    command_hash,
    schedule_id: id,
    scheduled_for: schedule.upcoming[0] as string,
  });
  assert.equal((await scheduler.result(scheduler.queue(run))).ok, true);
  await gateway.stop();
  const again = startCommand(t, ['fire', schedule.id, '--state-dir', stateDir, '--url', gateway.url], { HOME: root });
  await again.ended;
  assert.match(again.stdout(), /^the (slot was run before|daemon claims it)\n$/);
  assert.equal(await readFile(join(root, 'ran'), 'utf8'), 'x\n');
  await gateway.start();
  scheduler.schedules = [{ ...schedule, enabled: false }];
  await until(async () => (await crontab()) === '', 'the entry is gone');
});

test('without a daemon the command claims what is there, when it has a key', async (t) => {
  const gateway = await fakeGateway(t);
  const schedule = newNative('echo x >> ran', randomUUID());
  const { root, stateDir, fire } = await machine(t, gateway, schedule, false);
  const keyFile = join(stateDir, 'key');
  await mkdir(stateDir, { recursive: true });
  await writeFile(keyFile, testKey, { mode: 0o600 });
  const { spec, command_hash, id } = schedule;
  const run = gateway.scheduler.queue(newRun({ kind: 'shell', spec, command_hash, schedule_id: id }));
  assert.equal(await fire('--key-file', keyFile), 'claimed 1 runs');
  assert.equal((await gateway.scheduler.result(run)).ok, true);
  assert.equal(await readFile(join(root, 'ran'), 'utf8'), 'x\n');
});
