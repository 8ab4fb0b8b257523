import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import { testClock } from './kernel/clock.ts';
import { exampleIds, type Makers, notSent, type Preparation, Scene, sendExample } from './testing.examples.ts';
import { TestPushService } from './features/notifications/notifications.testing.ts';
import { shared } from './testing.shared.ts';
import { trustCertificate } from './testing.tls.ts';
import { createAccount, http, openHost, openTest, until } from './testing.ts';

/** The instant at which the examples play. */
const now = Date.parse('2026-11-02T09:00:00Z');

const { schedules, scheduler, keys, heartbeats, notifications, hosts } = docs;

/** Starts a run of a schedule now; answers its id. */
const runNow = async (scene: Scene, schedule: string): Promise<string> =>
  (await scene.call('POST', `/v1/schedules/${schedule}/run`)).run_id;

/** Creates the schedule of the examples, with further fields. */
async function createSchedule(scene: Scene, fields: object = {}): Promise<string> {
  const body = { ...(await scene.real(schedules.create.example.body)), ...fields };
  return (await scene.call('POST', '/v1/schedules', body)).id;
}

/** Pings the monitor of the scene. */
async function ping(scene: Scene, signal: string, body?: string): Promise<void> {
  const path = `/ping/${await scene.id('pingToken')}/${signal}?rid=${await scene.id('rid')}`;
  const { status } = await http(scene.gateway.url, path, { method: 'POST', raw: body ?? '' });
  assert.equal(status, 200);
}

/** Sends the operation of the examples to the host. */
async function exec(scene: Scene, device?: string): Promise<unknown> {
  const { body } = hosts.exec.example;
  return scene.call('POST', `/v1/hosts/${await scene.id('host')}/exec`, body, device);
}

/** Takes what webhooks send. */
const receiver = new TestPushService();

const makers: Makers = {
  caller: ({ account }) => Promise.resolve(account.keyId),
  key: async (scene) => (await scene.call('POST', '/v1/keys', keys.create.example.body)).id,
  async device({ gateway, account }) {
    const id = randomUUID();
    const headers = { 'x-svc-device': id, 'x-svc-device-name': "Ana's laptop", 'x-svc-device-platform': 'desktop' };
    await http(gateway.url, '/v1/devices', { key: account.key, headers });
    return id;
  },
  host: () => Promise.resolve(randomUUID()),
  async call(scene) {
    const host = await openHost(scene.gateway, scene.account, await scene.id('host'));
    // The host leaves first, which ends the call.
    scene.closing.use(ended(exec(scene)));
    scene.closing.defer(() => host.leave());
    return String((await host.next()).data['req_id']);
  },
  async schedule(scene) {
    const id = await createSchedule(scene);
    const { body } = schedules.approveCommand.example;
    await scene.call('POST', `/v1/schedules/${id}/approve-command`, body, await scene.id('host'));
    return id;
  },
  async run(scene) {
    await runNow(scene, await scene.id('schedule'));
    const { body } = scheduler.claim.example;
    return (await scene.call('POST', '/v1/scheduler/claim', body, await scene.id('host'))).run.id;
  },
  waitingRun: async (scene) => runNow(scene, await createSchedule(scene, { policy: { approval: 'always' } })),
  async machine(scene) {
    const { body } = scheduler.claim.example;
    await scene.call('POST', '/v1/scheduler/claim', { ...body, wait_s: 0 }, await scene.id('host'));
    return (await scene.call('GET', '/v1/scheduler/hosts')).hosts[0].id;
  },
  async notification(scene) {
    await ping(scene, 'fail');
    return (await scene.call('GET', '/v1/notifications')).notifications[0].id;
  },
  // An address that may be called, and never is: nothing is told to an account that has it.
  endpoint: () => Promise.resolve('https://1.1.1.1/send/example'),
  async subscription(scene) {
    const body = await scene.real(notifications.subscribe.example.body);
    return (await scene.call('POST', '/v1/push/subscriptions', body)).subscription.id;
  },
  webhookUrl: () => Promise.resolve(`https://127.0.0.1:${receiver.port}/hook`),
  webhookSecret: () => Promise.resolve('whsec_'),
  async webhook(scene) {
    const body = await scene.real(notifications.createWebhook.example.body);
    return (await scene.call('POST', '/v1/notifications/webhooks', body)).id;
  },
  async heartbeat(scene) {
    const { id, ping_url } = await scene.call('POST', '/v1/heartbeats', heartbeats.create.example.body);
    scene.set('pingToken', ping_url.slice(ping_url.lastIndexOf('/') + 1));
    return id;
  },
  async pingToken(scene) {
    await scene.id('heartbeat');
    return scene.id('pingToken');
  },
  rid: () => Promise.resolve(randomUUID()),
};

/** Waits for a call that may fail when its host leaves. */
const ended = (call: Promise<unknown>): AsyncDisposable => {
  const over = call.then(
    () => {},
    () => {},
  );
  return { [Symbol.asyncDispose]: () => over };
};

/** A host that answers what the example of an answer shows. */
async function answeringHost(scene: Scene): Promise<void> {
  const { query } = hosts.stream.example;
  const host = await openHost(scene.gateway, scene.account, await scene.id('host'), query);
  scene.closing.defer(() => host.leave());
  const { response } = hosts.exec.example;
  const answer = async (): Promise<void> => {
    const { data } = await host.next();
    const body = { ok: response.ok, result: response.result };
    await scene.call('POST', `/v1/hosts/exec/${String(data['req_id'])}/result`, body, host.deviceId);
  };
  void answer();
}

const preparations: Record<string, Preparation> = {
  'hosts.list': { before: answeringHost },
  'hosts.exec': { before: answeringHost },
  'hosts.stream': {
    before: async (scene) => scene.set('call', randomUUID()),
    async whenOpen(scene) {
      await until(async () => (await scene.call('GET', '/v1/hosts')).hosts.length > 0);
      scene.closing.use(ended(exec(scene, await scene.id('device'))));
    },
  },
  'notifications.stream': { whenOpen: (scene) => scene.call('POST', '/v1/notifications/test') },
  'notifications.listWebhooks': { before: (scene) => scene.id('webhook') },
  'notifications.webhookDeliveries': {
    before: async (scene) => scene.call('POST', `/v1/notifications/webhooks/${await scene.id('webhook')}/test`),
  },
  'notifications.unsubscribe': { before: (scene) => scene.id('subscription') },
  'heartbeats.list': {
    async before(scene) {
      await ping(scene, 'start');
      await ping(scene, '0');
    },
  },
  'heartbeats.pings': { before: (scene) => ping(scene, '0', 'imported 1204 rows') },
  'schedules.stream': { whenOpen: (scene) => createSchedule(scene) },
  'scheduler.claim': { before: async (scene) => runNow(scene, await scene.id('schedule')) },
  'scheduler.reportNative': {
    before: async (scene) => scene.set('schedule', await createSchedule(scene, { native: true })),
  },
  'scheduler.fire': {
    before: (scene) =>
      createSchedule(scene, { trigger: { type: 'event', trigger_id: scheduler.fire.example.params.trigger_id } }),
  },
};

describe('the example of an operation is answered as it says:', () => {
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'svc-examples-'));
    opening.defer(() => rmSync(folder, { recursive: true, force: true }));
    const providers = join(folder, 'providers.json');
    writeFileSync(providers, JSON.stringify({ lanes: [{ id: 'main', kind: 'openai', label: 'Main provider' }] }));
    await opening.use(receiver).listen(opening.use(trustCertificate()));
    const settings = {
      SVC_PROVIDERS: providers,
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_FETCH_PORTS: `443,${receiver.port}`,
    };
    const opened = opening.use(await openTest({ clock: testClock(now), settings }));
    const stack = opening.move();
    return { gateway: opened.gateway, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  for (const id of exampleIds(false)) {
    test(id, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), makers);
      await sendExample(scene, id, preparations[id]);
    });
  }
});

describe('the examples', () => {
  test('are sent for every operation, but for those that are listed with a reason', () => {
    const all = Object.entries(docs).flatMap(([feature, verbs]) =>
      Object.keys(verbs).map((verb) => `${feature}.${verb}`),
    );
    const sent = [...exampleIds(false), ...exampleIds(true), ...Object.keys(notSent)];
    assert.deepEqual(sent.toSorted(), all.toSorted());
    for (const [id, reason] of Object.entries(notSent)) assert.ok(reason.length > 10, id);
    assert.deepEqual(
      Object.keys(preparations).filter((id) => !sent.includes(id)),
      [],
    );
  });
});
