import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'node:test';
import { scriptOf, writeProviders } from '../apps/server/src/features/clouds/clouds.places.testing.ts';
import { FakeEc2, FakeHetzner } from '../apps/server/src/features/clouds/clouds.testing.ts';
import { TestDaemon } from '../apps/server/src/features/relay/relay.testing.ts';
import { http, until } from '../apps/server/src/testing.ts';
import { randomOf, suiteSeed } from '../apps/server/src/testing.random.ts';
import {
  freePort,
  killAll,
  noSandboxes,
  runHere,
  type Running,
  start,
  startPlatform,
  temporaryFolder,
} from './platform.ts';

/** `SVC_TEST_KILLS=40` for as many as were shown. */
const kills = Number(process.env['SVC_TEST_KILLS'] ?? 2);
const seed = suiteSeed;
const count = 5;
/** What callers do, and how often of ten. */
const wishes = ['start', 'start', 'start', 'stop', 'stop', 'stop', 'archive', 'start', 'destroy', 'stop'] as const;
/** States in which an environment has a machine, or gets one. */
const withMachine = ['creating', 'enrolling', 'running', 'stopping', 'stopped', 'starting'];

interface Event {
  kind: string;
  payload: { state?: string };
}

test(`two callers, a late provider and ${kills} times kill -9: events chain, and the last one is the state (seed ${seed})`, async (context) => {
  context.after(killAll);
  const random = randomOf(seed);
  const among = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const [fake, ec2] = [stack.use(await new FakeHetzner().listen()), stack.use(await new FakeEc2().listen())];
  const [port, relayPort] = [await freePort(), await freePort()];
  const relayUrl = `http://127.0.0.1:${relayPort}/relay`;
  const settings = {
    ...noSandboxes,
    SVC_PROVIDERS: writeProviders(folder.path, fake, ec2),
    SVC_RELAY_URL: relayUrl,
    SVC_RATE_REQUESTS: '1000000',
  };
  const dataDir = `${folder.path}/data`;
  const first = await startPlatform(dataDir, port, settings);
  const { key: owner, url } = first;
  let platform: Running = first;
  const startRelay = async (): Promise<Running> => {
    const own = { ...settings, SVC_PORT: String(relayPort), SVC_METRICS_PORT: '0', SVC_DATA_DIR: dataDir };
    const relay = start(['up', '--only', 'relay'], own);
    await relay.printed(/svc relay runs at/);
    return relay;
  };
  let relay = await startRelay();

  const ask = async (method: string, path: string, body?: object, key = owner) =>
    http(url, path, { method, key, ...(body && { body }) });
  const other = 'other@example.com';
  const svc = (...line: string[]) => runHere(dataDir, ...line);
  await svc('accounts', 'create', '--email', other);
  const callers = [owner, (await svc('keys', 'create', '--email', other)).key as string];
  const { project } = (await ask('POST', '/v1/projects', { name: 'Kill' })).body;
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const body = { project_id: project.id, provider: 'managed_b', name: `m${n}` };
    const made = await ask('POST', '/v1/environments', body);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { id } = made.body.environment;
    ids.push(id);
    const member = { email: other, role: 'maintainer' };
    assert.equal((await ask('POST', `/v1/environments/${id}/members`, member)).status, 201);
    assert.equal((await ask('POST', `/v1/environments/${id}/members/me/accept`, undefined, callers[1])).status, 200);
  }

  const over = new AbortController();
  /** Whatever a process that was just killed does to a call is part of the test. */
  const again = async (work: () => Promise<unknown>, everyMs: number): Promise<void> => {
    while (!over.signal.aborted) {
      await work().catch(() => {});
      await delay(everyMs);
    }
  };
  const machines = new Map<string, { key: string; device: string; daemon?: TestDaemon }>();
  /** As the script of the first boot does, and the daemon after it. */
  const boot = async (id: string): Promise<void> => {
    const machine = [...fake.machines.values()].find(({ labels }) => labels['svc-environment'] === id);
    if (machine?.status !== 'running') return;
    let one = machines.get(machine.id);
    if (!one) {
      const token = /token='(svc_env_[^']+)'/.exec(scriptOf([fake], id))?.[1];
      const device = randomUUID();
      const body = { token, device_id: device, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
      const enrolled = await http(url, '/v1/environments/enroll', { method: 'POST', body });
      if (enrolled.status !== 200) return;
      machines.set(machine.id, (one = { key: enrolled.body.api_key, device }));
    }
    if (one.daemon && one.daemon.socket.readyState <= 1) return;
    const at = among([relayUrl, `${url}/relay`]);
    const headers = { authorization: `Bearer ${one.key}`, 'x-svc-device': one.device };
    one.daemon = new TestDaemon(`${at}/v1/environments/${id}/serve`, headers);
    one.daemon.socket.on('error', () => {});
  };
  const busy = [
    ...callers.map((key) =>
      again(() => ask('POST', `/v1/environments/${among(ids)}/${among(wishes)}`, undefined, key), 150),
    ),
    again(() => Promise.all(ids.map(boot)), 500),
    again(() => Promise.resolve(fake.settle()), 700),
    again(() => {
      fake.faults = [
        { how: among(['lose', 'lose', 'hang'] as const) },
        { status: 429, headers: { 'retry-after': '1' } },
      ];
      return Promise.resolve();
    }, 4_000),
  ];
  for (let n = 0; n < kills; n += 1) {
    await delay(2_000 + random() * 4_000);
    const what = among(['gateway', 'relay', 'both']);
    if (what !== 'relay') await platform.end('SIGKILL');
    if (what !== 'gateway') await relay.end('SIGKILL');
    if (what !== 'relay') platform = await startPlatform(dataDir, port, settings);
    if (what !== 'gateway') relay = await startRelay();
  }
  const calm = performance.now();
  over.abort();
  await Promise.all(busy);
  fake.faults = [];
  const settling = setInterval(() => fake.settle(), 500);
  stack.defer(() => clearInterval(settling));

  const stateOf = async (id: string) => (await ask('GET', `/v1/environments/${id}`)).body.environment.state as string;
  await until(async () => {
    // A provider takes its time: to ask more often costs more than all else here.
    await delay(500);
    const states = await Promise.all(ids.map(stateOf));
    const wanted = ids.filter((_, at) => withMachine.includes(states[at] as string));
    const labels = [...fake.machines.values()].map(({ labels: of }) => of['svc-environment']);
    return labels.length === wanted.length && wanted.every((id) => labels.includes(id));
  });
  const quiet = performance.now();
  let moves = 0;
  for (const id of ids) {
    const events: Event[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await ask('GET', `/v1/environments/${id}/events?limit=200${cursor && `&cursor=${cursor}`}`);
      events.push(...body.events);
      if (body.next_cursor === null || body.next_cursor === undefined) break;
      cursor = body.next_cursor;
    }
    let state = 'creating';
    for (const { kind } of events.toReversed()) {
      const [, from, to] = /^state:(\w+)->(\w+)$/.exec(kind) ?? [];
      if (from === undefined) continue;
      assert.equal(from, state, `${id}: ${kind}`);
      state = to as string;
      moves += 1;
    }
    assert.equal(await stateOf(id), state);
  }
  assert.ok(moves > count, `${moves} moves`);
  context.diagnostic(`${moves} moves of ${count} environments; quiet after ${Math.round((quiet - calm) / 1_000)} s`);
  for (const { daemon } of machines.values()) await daemon?.close();
  await relay.end();
  await platform.end();
});
