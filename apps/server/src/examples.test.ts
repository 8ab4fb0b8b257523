import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { docs } from '@svc/contract/docs';
import { testClock } from './kernel/base/clock.ts';
import { bodyIds, exampleIds, type Makers, notSent, type Preparation, Scene, sendExample } from './testing.examples.ts';
import { replies, streams, TestProvider } from './features/inference/inference.testing.ts';
import { TestPushService } from './features/notifications/notifications.testing.ts';
import { article, openWeb, type Web } from './features/tools/tools.testing.ts';
import { environmentMakers, environmentPreparations } from './features/environments/environments.examples.testing.ts';
import { connectionOf } from './features/connections/connections.testing.ts';
import { meMakers, mePreparations } from './features/me/me.examples.testing.ts';
import { transcriptMakers, transcriptPreparations } from './features/transcripts/transcripts.examples.testing.ts';
import { beginUpload } from './features/uploads/uploads.testing.ts';
import { shared } from './testing.shared.ts';
import { trustCertificate } from './testing.tls.ts';
import { createAccount, http, openHost, openTest, until } from './testing.ts';

/** The instant at which the examples play. */
const now = Date.parse('2026-11-02T09:00:00Z');

const { schedules, scheduler, keys, heartbeats, notifications, hosts, sessions, prompts, tools } = docs;

const stopped = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** A provider that answers each route of models with its example, and judges prompts as theirs shows. */
const provider = new TestProvider();
const { chat, messages, responses, embeddings, audio } = docs;
const exampleAnswers: Readonly<Record<string, object>> = {
  '/v1/messages/count_tokens': messages.countTokens.example.response,
  '/v1/chat/completions': chat.completions.example.response,
  '/v1/messages': messages.create.example.response,
  '/v1/responses': responses.create.example.response,
  '/v1/embeddings': embeddings.create.example.response,
  '/v1/audio/transcriptions': audio.transcriptions.example.response,
  '/v1/audio/translations': audio.translations.example.response,
};
const verdict = {
  choices: [{ index: 0, delta: { content: JSON.stringify(prompts.verify.example.response.prompt.report) } }],
};
provider.script = (response, taken) =>
  taken.path === '/judge/chat/completions'
    ? streams(`data: ${JSON.stringify(verdict)}\n\n`, stopped)(response, taken)
    : replies(exampleAnswers[taken.path] ?? {})(response, taken);
/** Lanes of the models that the examples name. */
const lanes = (url: string) => [
  {
    id: 'main',
    kind: 'openai',
    label: 'Main provider',
    base_url: `${url}/v1`,
    models: ['small-1'],
    prices: { 'small-1': { input: 1, output: 2 } },
  },
  { id: 'writer', kind: 'anthropic', base_url: url, models: ['writer-1'] },
  { id: 'thinker', kind: 'responses', base_url: `${url}/v1`, models: ['thinker-1'] },
  { id: 'vectors', kind: 'openai', base_url: `${url}/v1`, models: ['vectors-1'] },
  { id: 'judge', kind: 'openai', base_url: `${url}/judge`, models: ['judge-1'] },
  { id: 'sound', kind: 'openai', base_url: `${url}/v1`, models: ['ears-1', 'voice-1'] },
];

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

/** Serves the page of the examples. */
let web: Web | undefined;

/** Takes what webhooks send. */
const receiver = new TestPushService();

const makers: Makers = {
  ...transcriptMakers,
  ...environmentMakers,
  ...meMakers,
  connection: async ({ gateway, account }) => (await connectionOf(gateway, account)).id,
  caller: ({ account }) => Promise.resolve(account.keyId),
  key: async (scene) => (await scene.call('POST', '/v1/keys', keys.create.example.body)).id,
  async device({ gateway, account }) {
    const id = randomUUID();
    const headers = { 'x-svc-device': id, 'x-svc-device-name': "Ana's laptop", 'x-svc-device-platform': 'desktop' };
    await http(gateway.url, '/v1/devices', { key: account.key, headers });
    return id;
  },
  host: () => Promise.resolve(randomUUID()),
  cursor: async (scene) => (await scene.call('GET', '/v1/events')).cursor,
  invite: async (scene) => (await scene.call('POST', '/v1/hosts/invites', hosts.invite.example.body)).code,
  async call(scene) {
    const host = await openHost(scene.gateway, scene.account, await scene.id('host'));
    // The host leaves first, which ends the call.
    scene.closing.use(ended(exec(scene)));
    scene.closing.defer(() => host.leave());
    return String((await host.next()).data['req_id']);
  },
  async exec(scene) {
    const host = await openHost(scene.gateway, scene.account, await scene.id('host'), { detached: 'true' });
    scene.closing.defer(() => host.leave());
    const body = { ...hosts.exec.example.body, detach: true };
    const { req_id } = await scene.call('POST', `/v1/hosts/${host.deviceId}/exec`, body);
    await host.next();
    return req_id;
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
  upload: async ({ gateway, account }) =>
    (await beginUpload(gateway, account, Buffer.from('audio'), { filename: 'standup.m4a' })).id,
  otherUpload: async ({ gateway, account }) => (await beginUpload(gateway, account, 9)).id,
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
  async badgeToken(scene) {
    const { json_url } = await scene.call('POST', `/v1/heartbeats/${await scene.id('heartbeat')}/badge`);
    return /([^/]+)\.json$/.exec(json_url)?.[1] as string;
  },
  pingKey: async (scene) => (await scene.call('POST', '/v1/heartbeats/ping-key')).ping_key,
  rid: () => Promise.resolve(randomUUID()),
  async trace({ gateway, account }) {
    const id = randomUUID();
    const { body } = chat.completions.example;
    const { key } = account;
    await http(gateway.url, '/v1/chat/completions', { key, body, headers: { 'x-request-id': id } });
    clock.advance(1_000);
    await until(async () => (await http(gateway.url, `/v1/receipt?trace_id=${id}`, { key })).status === 200);
    return id;
  },
  async session(scene) {
    const { id } = await scene.call('POST', '/v1/sessions', sessions.create.example.body);
    const device = await scene.id('device');
    const events = sessions.events.example.response.events.map(({ type, turn_id, role, text }) => ({
      type,
      turn_id,
      role,
      text,
    }));
    await scene.call('POST', `/v1/sessions/${id}/events`, { expected_seq: 0, events }, device);
    await scene.call('DELETE', `/v1/sessions/${id}/lease`, undefined, device);
    return id;
  },
  async control(scene) {
    const body = { ...sessions.sendControl.example.body, target_device_id: await scene.id('device') };
    return (await scene.call('POST', `/v1/sessions/${await scene.id('session')}/controls`, body)).id;
  },
  page: () => Promise.resolve(web?.url('/about') ?? assert.fail('no web')),
  prompt: async (scene) => (await scene.call('POST', '/v1/prompts', prompts.create.example.body)).id,
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

/** Starts the command of the examples, as its host. */
async function startExec(scene: Scene): Promise<void> {
  const { body } = hosts.startExec.example;
  await scene.call('POST', `/v1/hosts/exec/${await scene.id('exec')}/start`, body, await scene.id('host'));
}

const preparations: Record<string, Preparation> = {
  ...transcriptPreparations,
  ...environmentPreparations,
  ...mePreparations,
  'hosts.list': { before: answeringHost },
  'hosts.get': { before: answeringHost },
  'hosts.exec': { before: answeringHost },
  'hosts.stream': {
    before: async (scene) => scene.set('call', randomUUID()),
    async whenOpen(scene) {
      await until(async () => (await scene.call('GET', '/v1/hosts')).hosts.length > 0);
      scene.closing.use(ended(exec(scene, await scene.id('device'))));
    },
  },
  'hosts.execOutput': {
    async before(scene) {
      await startExec(scene);
      const path = `/v1/hosts/exec/${await scene.id('exec')}/output?offset=0`;
      const { key } = scene.account;
      const headers = { 'x-svc-device': await scene.id('host'), 'content-type': 'application/octet-stream' };
      await http(scene.gateway.url, path, { method: 'POST', key, headers, raw: hosts.appendOutput.example.body });
    },
  },
  'hosts.appendOutput': { before: startExec },
  ...Object.fromEntries(
    ['list', 'get', 'update', 'remove'].map((verb) => [
      `machines.${verb}`,
      { before: (scene: Scene) => scene.id('machine') },
    ]),
  ),
  'machines.approvals': {
    async before(scene) {
      await scene.id('machine');
      scene.set('schedule', await createSchedule(scene));
    },
  },
  // Written half a second after its answer, by which time the example is read.
  'usage.requests': {
    before: ({ gateway: { kernel }, account: { id, keyId } }) =>
      kernel.sql`insert into kernel.usage_records
        (at, account_id, key_id, route, status, bytes, ms, cost_micro_usd, trace_id)
        values ('2026-11-02T08:00:00Z', ${id}, ${keyId}, 'keys.list', 200, 1, 1, 0, 'x')`,
  },
  'wallet.entries': {
    before: ({ gateway: { kernel }, account: { id } }) =>
      kernel.sql`insert into wallet.ledger (account_id, amount_micro_eur, source_key, note)
        values (${id}, 20000000, ${`credit:${randomUUID()}`}, 'invoice 17')`,
  },
  'notifications.stream': { whenOpen: (scene) => scene.call('POST', '/v1/notifications/test') },
  'notifications.listWebhooks': { before: (scene) => scene.id('webhook') },
  'notifications.webhookDeliveries': {
    before: async (scene) => scene.call('POST', `/v1/notifications/webhooks/${await scene.id('webhook')}/test`),
  },
  'notifications.listSubscriptions': { before: (scene) => scene.id('subscription') },
  'notifications.unsubscribe': { before: (scene) => scene.id('subscription') },
  'notifications.removeSubscription': { before: (scene) => scene.id('subscription') },
  'heartbeats.list': {
    async before(scene) {
      await ping(scene, 'start');
      await ping(scene, '0');
    },
  },
  'heartbeats.getPingKey': { before: (scene) => scene.id('pingKey') },
  'heartbeats.removePingKey': { before: (scene) => scene.id('pingKey') },
  'heartbeats.listBadges': { before: (scene) => scene.id('badgeToken') },
  'heartbeats.removeBadge': { before: (scene) => scene.id('badgeToken') },
  'heartbeats.removeAccountBadge': { before: (scene) => scene.call('POST', '/v1/heartbeats/badge') },
  'heartbeats.log': { before: (scene) => ping(scene, '0', 'imported 1204 rows') },
  'heartbeats.pings': { before: (scene) => ping(scene, '0', 'imported 1204 rows') },
  'heartbeats.stream': { whenOpen: (scene) => scene.id('heartbeat') },
  'events.stream': { whenOpen: (scene) => scene.id('prompt') },
  'events.list': {
    // The cursor of the example stands before its change.
    async before(scene) {
      await scene.id('cursor');
      await scene.id('prompt');
    },
  },
  'overview.get': {
    async before(scene) {
      await scene.id('run');
      await ping(scene, '0');
      await ping(scene, 'fail');
    },
  },
  'overview.find': { before: (scene) => scene.id('heartbeat') },
  'sessions.stream': { whenOpen: (scene) => scene.id('control') },
  'prompts.stream': { whenOpen: (scene) => scene.id('prompt') },
  'schedules.stream': { whenOpen: (scene) => createSchedule(scene) },
  'scheduler.log': {
    async before(scene) {
      const { query, body } = scheduler.appendLog.example;
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
      const path = `/v1/schedule-runs/${await scene.id('run')}/log?${search.toString()}`;
      const { key } = scene.account;
      const headers = { 'x-svc-device': await scene.id('host'), 'content-type': 'application/octet-stream' };
      await http(scene.gateway.url, path, { method: 'POST', key, headers, raw: body });
    },
  },
  'tools.search': { before: (scene) => scene.call('POST', '/v1/tools/fetch', { url: web?.url('/about') }) },
  'scheduler.claim': { before: async (scene) => runNow(scene, await scene.id('schedule')) },
  'scheduler.rerun': {
    before: async (scene) => scene.call('POST', `/v1/schedule-runs/${await scene.id('run')}/cancel`),
  },
  'scheduler.reportNative': {
    before: async (scene) => scene.set('schedule', await createSchedule(scene, { native: true })),
  },
  'scheduler.fire': {
    before: (scene) =>
      createSchedule(scene, { trigger: { type: 'event', trigger_id: scheduler.fire.example.params.trigger_id } }),
  },
};

const clock = testClock(now);

describe('the example of an operation is answered as it says:', () => {
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), 'svc-examples-'));
    opening.defer(() => rmSync(folder, { recursive: true, force: true }));
    const providers = join(folder, 'providers.json');
    const { url } = await opening.use(provider).listen();
    const aliases = { svc: ['main'], 'svc-fast': ['judge'], 'svc-embed': ['vectors'] };
    writeFileSync(providers, JSON.stringify({ lanes: lanes(url), aliases, search: [] }));
    web = opening.use(await openWeb());
    web.on(
      '/about',
      article('The Widget Works', [tools.fetch.example.response.content], '<meta name="author" content="Ana Pop">'),
    );
    await opening.use(receiver).listen(opening.use(trustCertificate()));
    const settings = {
      SVC_PROVIDERS: providers,
      SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
      SVC_FETCH_PORTS: `443,${receiver.port},${web.port}`,
    };
    const opened = opening.use(await openTest({ clock, settings }));
    const stack = opening.move();
    return { gateway: opened.gateway, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  for (const id of exampleIds(false)) {
    test(id, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), makers);
      await sendExample(scene, id, preparations[id]);
    });
  }

  for (const id of bodyIds(false)) {
    test(`${id}, with null for every optional field that its body does not set`, async () => {
      await using scene = new Scene(gateway, await createAccount(gateway), makers);
      await sendExample(scene, id, preparations[id], { nulls: true });
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
