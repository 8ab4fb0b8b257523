import { randomUUID } from 'node:crypto';
import assert from 'node:assert/strict';
import { docs } from '@svc/contract/docs';
import { type Makers, type Scene } from './testing.examples.ts';
import { environmentMakers } from './features/environments/environments.examples.testing.ts';
import { connectionOf } from './features/connections/connections.testing.ts';
import { meMakers } from './features/me/me.examples.testing.ts';
import { transcriptMakers } from './features/transcripts/transcripts.examples.testing.ts';
import { beginUpload } from './features/uploads/uploads.testing.ts';
import { http, openHost } from './testing.ts';

const { schedules, scheduler, keys, heartbeats, notifications, hosts, sessions, prompts } = docs;

/** Starts a run of a schedule now; answers its id. */
export const runNow = async (scene: Scene, schedule: string): Promise<string> =>
  (await scene.call('POST', `/v1/schedules/${schedule}/run`)).run_id;

/** Creates the schedule of the examples, with further fields. */
export async function createSchedule(scene: Scene, fields: object = {}): Promise<string> {
  const body = { ...(await scene.real(schedules.create.example.body)), ...fields };
  return (await scene.call('POST', '/v1/schedules', body)).id;
}

/** Pings the monitor of the scene. */
export async function ping(scene: Scene, signal: string, body?: string): Promise<void> {
  const path = `/ping/${await scene.id('pingToken')}/${signal}?rid=${await scene.id('rid')}`;
  const { status } = await http(scene.gateway.url, path, { method: 'POST', raw: body ?? '' });
  assert.equal(status, 200);
}

/** Sends the operation of the examples to the host. */
export async function exec(scene: Scene, device?: string): Promise<unknown> {
  const { body } = hosts.exec.example;
  return scene.call('POST', `/v1/hosts/${await scene.id('host')}/exec`, body, device);
}

/** Waits for a call that may fail when its host leaves. */
export const ended = (call: Promise<unknown>): AsyncDisposable => {
  const over = call.then(
    () => {},
    () => {},
  );
  return { [Symbol.asyncDispose]: () => over };
};

/** Makes what the samples of the examples stand for. */
export const makers: Makers = {
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
  prompt: async (scene) => (await scene.call('POST', '/v1/prompts', prompts.create.example.body)).id,
};
