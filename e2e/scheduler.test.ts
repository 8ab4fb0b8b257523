import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, SvcError } from '@svc/sdk';
import {
  freePort,
  killAll,
  type Platform,
  run,
  type Running,
  runOnTerminal,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

describe('schedules on real machines', () => {
  const folder = temporaryFolder();
  let platform: Platform;

  before(async () => {
    platform = await startPlatform(join(folder.path, 'data'), await freePort());
  });
  after(async () => {
    await platform.end();
    killAll();
    await folder.remove();
  });

  const environment = () => ({ SVC_API_KEY: platform.key, SVC_BASE_URL: platform.url });
  const client = () => createClient({ baseUrl: platform.url, apiKey: platform.key });
  const rootOf = (name: string) => join(folder.path, name);
  const stateOf = (name: string) => join(folder.path, `${name}.state`);

  async function startHost(
    name: string,
    more: Record<string, string> = {},
  ): Promise<{ daemon: Running; deviceId: string }> {
    mkdirSync(rootOf(name), { recursive: true });
    const words = [
      'host',
      'run',
      '--state-dir',
      stateOf(name),
      '--name',
      name,
      '--roots',
      rootOf(name),
      '--allow-shell',
    ];
    const daemon = start(words, { ...environment(), ...more });
    const [, deviceId = ''] = await daemon.printed(new RegExp(`connected as ${name} \\(([0-9a-f-]{36})\\)`));
    return { daemon, deviceId };
  }

  async function approve(name: string, schedule: string, more: Record<string, string> = {}): Promise<void> {
    const words = ['host', 'approve', schedule, '--state-dir', stateOf(name)];
    const { code, screen } = await runOnTerminal(words, { ...environment(), ...more });
    assert.equal(code, 0, screen);
    assert.match(screen, /approved [0-9a-f]{64}/);
  }

  async function until<T>(look: () => Promise<T | undefined>, what: string, everyMs = 250): Promise<T> {
    const ms = 150_000;
    for (const end = performance.now() + ms; performance.now() < end; await sleep(everyMs)) {
      const found = await look();
      if (found !== undefined) return found;
    }
    throw new Error(`not within ${ms} ms: ${what}`);
  }

  test('every slot of a schedule is run once, with its output in the history, after the approval on the machine', async () => {
    const { daemon, deviceId } = await startHost('box');
    const schedule = await client().schedules.create({
      body: {
        name: 'every two seconds',
        kind: 'shell',
        spec: { command: 'echo "$SVC_RUN_ID" >> ran; echo "done $((6 * 7))"' },
        trigger: { type: 'cron', expr: '*/2 * * * * *' },
        target: { type: 'host', device_id: deviceId },
      },
    });
    await daemon.printed(/"every two seconds" waits for this host to approve its command/);
    assert.equal(existsSync(join(rootOf('box'), 'ran')), false);
    await approve('box', 'every two seconds');
    const runsOf = async () =>
      (await client().schedules.runs({ params: { id: schedule.id }, query: { limit: 50 } })).runs;
    const succeeded = async () => (await runsOf()).filter(({ state }) => state === 'succeeded');
    await until(async () => ((await succeeded()).length >= 4 ? true : undefined), 'four runs');
    await client().schedules.update({ params: { id: schedule.id }, body: { enabled: false } });
    const runs = await until(async () => {
      const all = await runsOf();
      return all.every(({ state }) => state === 'succeeded' || state === 'skipped') ? all : undefined;
    }, 'no run is open');
    const slots = runs.map(({ scheduled_for }) => Date.parse(scheduled_for)).sort((a, b) => a - b);
    assert.deepEqual(
      slots,
      slots.map((_, at) => (slots[0] ?? 0) + at * 2000),
    );
    const done = runs.filter(({ state }) => state === 'succeeded');
    for (const { attempt, log_tail, exit_code } of done) {
      assert.deepEqual([attempt, log_tail, exit_code], [1, 'done 42\n', 0]);
    }
    const ran = readFileSync(join(rootOf('box'), 'ran'), 'utf8')
      .trim()
      .split('\n');
    assert.deepEqual(ran.sort(), done.map(({ id }) => id).sort());
    assert.equal(await daemon.end(), 0);
  });

  test('a native slot that comes while the platform is away is run by the machine, once, and stands in the history', async () => {
    // The tester's crontab stays as it is.
    const tools = join(folder.path, 'tools');
    mkdirSync(tools, { recursive: true });
    const table = join(tools, 'table');
    const script = `#!/bin/sh\ncase "$1" in -l) cat ${table} 2>/dev/null || { echo "no crontab for x" >&2; exit 1; } ;; -) cat > ${table} ;; -r) rm ${table} ;; esac\n`;
    for (const name of ['crontab', 'systemctl']) writeFileSync(join(tools, name), script, { mode: 0o755 });
    const PATH = `${tools}:${process.env['PATH'] ?? ''}`;
    const first = await startHost('native', { PATH });
    const schedule = await client().schedules.create({
      body: {
        name: 'native',
        kind: 'shell',
        spec: { command: 'echo "$SVC_RUN_ID" >> ran; echo here' },
        trigger: { type: 'cron', expr: '*/10 * * * * *' },
        // On a busy machine more than one slot is missed: none of them is given up before the machine has told of its own.
        misfire: 'all_within',
        overlap: 'queue',
        target: { type: 'host', device_id: first.deviceId },
        native: true,
      },
    });
    await approve('native', 'native');
    const runsOf = async () =>
      (await client().schedules.runs({ params: { id: schedule.id }, query: { limit: 50 } })).runs;
    await until(async () => (await runsOf()).find(({ state }) => state === 'succeeded'), 'a run over the platform');
    assert.equal(await platform.end('SIGKILL'), 'SIGKILL');
    assert.equal(await first.daemon.end(), 0);
    const fired = await until(
      async () => {
        const words = ['host', 'fire', schedule.id, '--state-dir', stateOf('native'), '--roots', rootOf('native')];
        const { stdout } = await run(words, { SVC_BASE_URL: platform.url });
        return stdout === 'the slot was run\n' ? true : undefined;
      },
      'the machine ran a slot by itself',
      1_500,
    );
    assert.ok(fired);
    const { key } = platform;
    platform = { ...(await startPlatform(platform.dataDir, platform.port)), key };
    const second = await startHost('native', { PATH });
    const ran = () =>
      readFileSync(join(rootOf('native'), 'ran'), 'utf8')
        .trim()
        .split('\n');
    const alone = ran().find((id) => id.startsWith(`${schedule.id}.`)) ?? assert.fail(ran().join());
    const slot = new Date(Number(alone.split('.')[1])).toISOString();
    const told = await until(
      async () => (await runsOf()).find((one) => one.scheduled_for === slot && one.state === 'succeeded'),
      'its outcome is in the history',
    );
    assert.deepEqual([told.device_id, told.log_tail, told.exit_code], [first.deviceId, 'here\n', 0]);
    await client().schedules.update({ params: { id: schedule.id }, body: { enabled: false } });
    const runs = await until(async () => {
      const all = await runsOf();
      return all.every(({ state }) => state === 'succeeded' || state === 'skipped') ? all : undefined;
    }, 'no run is open');
    assert.equal(ran().length, runs.filter(({ state }) => state === 'succeeded').length);
    assert.equal(new Set(runs.map(({ scheduled_for }) => scheduled_for)).size, runs.length);
    assert.equal(await second.daemon.end(), 0);
  });

  test('a run whose machine was killed is finished by another as attempt 2, and the first is heard no more', {
    timeout: 600_000,
  }, async () => {
    const first = await startHost('first');
    const command = 'echo $$ > pid; [ "$SVC_RUN_ATTEMPT" != 1 ] || sleep 600; echo "finished by $SVC_RUN_ATTEMPT"';
    const schedule = await client().schedules.create({
      body: {
        name: 'long',
        kind: 'shell',
        spec: { command },
        trigger: { type: 'event', trigger_id: 'never' },
        target: { type: 'any' },
      },
    });
    await approve('first', 'long');
    await client().schedules.run({ params: { id: schedule.id } });
    const pid = await until(async () => {
      const path = join(rootOf('first'), 'pid');
      return existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined;
    }, 'the command started');
    const second = await startHost('second');
    await approve('second', schedule.id);
    assert.equal(await first.daemon.end('SIGKILL'), 'SIGKILL');
    await until(async () => (existsSync(`/proc/${pid}`) ? undefined : true), 'the command went with its daemon');
    const finished = await until(async () => {
      const { runs } = await client().schedules.runs({ params: { id: schedule.id }, query: { limit: 5 } });
      return runs.find(({ state }) => state === 'succeeded');
    }, 'another machine finished it');
    assert.deepEqual(
      [finished.attempt, finished.device_id, finished.log_tail],
      [2, second.deviceId, 'finished by 2\n'],
    );
    const stale = createClient({ baseUrl: platform.url, apiKey: platform.key, device: { id: first.deviceId } });
    await assert.rejects(
      stale.scheduler.result({ params: { id: finished.id }, body: { attempt: 1, ok: true } }),
      (error) => error instanceof SvcError && error.status === 409 && error.code === 'lease_held',
    );
    // The machine that comes back reports what it left behind, is refused, and goes on.
    const back = await startHost('first');
    await back.daemon.printed(/the result of run \S+ attempt 1 was refused: 409 lease_held/);
    assert.deepEqual(await Promise.all([back.daemon.end(), second.daemon.end()]), [0, 0]);
  });

  test('a key of svc host enroll runs a daemon: operations, an approval, a scheduled command; and may do nothing else', async () => {
    const keyFile = join(folder.path, 'enrolled.key');
    const enroll = (...words: string[]) =>
      run(['host', 'enroll', '--state-dir', stateOf('enrolled'), '--name', 'enrolled', ...words], environment());
    const made = await enroll('--out', keyFile);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stderr, /start the daemon with it: svc host run --key-file \S+enrolled\.key/);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    const key = readFileSync(keyFile, 'utf8').trim();
    const { daemon, deviceId } = await startHost('enrolled', { SVC_API_KEY: key });
    const shell = { op: 'shell', args: { command: 'echo relayed' } };
    const answer = await client().hosts.exec({ params: { device_id: deviceId }, body: shell });
    assert.equal((answer.result as { stdout: string }).stdout, 'relayed\n');
    const schedule = await client().schedules.create({
      body: {
        name: 'by the enrolled',
        kind: 'shell',
        spec: { command: 'echo scheduled' },
        trigger: { type: 'event', trigger_id: 'never' },
        target: { type: 'host', device_id: deviceId },
      },
    });
    await daemon.printed(/"by the enrolled" waits for this host to approve its command/);
    await approve('enrolled', 'by the enrolled', { SVC_API_KEY: key });
    await client().schedules.run({ params: { id: schedule.id } });
    const done = await until(async () => {
      const { runs } = await client().schedules.runs({ params: { id: schedule.id }, query: { limit: 5 } });
      return runs.find(({ state }) => state !== 'pending' && state !== 'running');
    }, 'the run is over');
    assert.deepEqual([done.state, done.log_tail, done.device_id], ['succeeded', 'scheduled\n', deviceId]);
    const own = createClient({ baseUrl: platform.url, apiKey: key, device: { id: deviceId } });
    for (const call of [
      () => own.hosts.exec({ params: { device_id: deviceId }, body: shell }),
      () => own.keys.list(),
      () => own.hosts.list(),
      () => own.scheduler.runs({ query: {} }),
    ]) {
      await assert.rejects(call, { status: 403 });
    }
    assert.match((await enroll('--out', keyFile)).stderr, /is there already/);
    const shown = await enroll();
    assert.match(shown.stdout, /^svc_\w{38}\n$/);
    // The device is the new key's from now on.
    await assert.rejects(own.scheduler.claim({ body: {} }), { status: 403, message: /svc host enroll/ });
    assert.equal(await daemon.end(), 0);
  });
});
