import { randomUUID } from 'node:crypto';
import { docs } from '@svc/contract/docs';
import type { Preparation, Scene } from './testing.examples.ts';
import { environmentPreparations } from './features/environments/environments.examples.testing.ts';
import { mePreparations } from './features/me/me.examples.testing.ts';
import { transcriptPreparations } from './features/transcripts/transcripts.examples.testing.ts';
import { createSchedule, ended, exec, ping, runNow } from './testing.makers.ts';
import { http, openHost, until } from './testing.ts';

const { scheduler, hosts } = docs;

/** A host that answers what the example of an answer shows. */
async function answeringHost(scene: Scene): Promise<void> {
  const { query } = hosts.stream.example;
  const host = await openHost(scene.gateway, scene.account, await scene.id('host'), query);
  scene.closing.defer(() => host.leave());
  const { response } = hosts.exec.example;
  const answer = async (): Promise<void> => {
    for (;;) {
      const { data } = await host.next();
      const body = { ok: response.ok, result: response.result };
      await scene.call('POST', `/v1/hosts/exec/${String(data['req_id'])}/result`, body, host.deviceId);
    }
  };
  void answer();
}

/** Starts the command of the examples, as its host. */
async function startExec(scene: Scene): Promise<void> {
  const { body } = hosts.startExec.example;
  await scene.call('POST', `/v1/hosts/exec/${await scene.id('exec')}/start`, body, await scene.id('host'));
}
/** What must have happened before an example is sent. */
export const preparations: Record<string, Preparation> = {
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
  'notifications.pushDelivered': { before: (scene) => scene.id('subscription') },
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
  'tools.search': { before: async (scene) => scene.call('POST', '/v1/tools/fetch', { url: await scene.id('page') }) },
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
