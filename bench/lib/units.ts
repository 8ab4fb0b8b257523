import { randomUUID } from 'node:crypto';
import { openDevice } from '../../apps/server/src/features/sessions/sessions.testing.ts';
import { beginUpload, sendPiece } from '../../apps/server/src/features/uploads/uploads.testing.ts';
import { http, openHost, until } from '../../apps/server/src/testing.ts';
import type { Stage } from './stage.ts';

/** Something that is done once, and what it costs. */
export interface Unit {
  /** Makes what it needs, uncounted; answers what is counted. */
  prepare(stage: Stage): Promise<() => Promise<unknown>>;
  /** Makes what is counted with it and belongs to something else: it is taken off. */
  beside?(stage: Stage): Promise<() => Promise<unknown>>;
}

const second = 1_000;

/** Turns the time, and lets all that is due come to its end. */
async function turn({ clock, wire }: Stage, seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n += 1) {
    clock.advance(second);
    await wire.quiet(30);
  }
}

/** Has written what is written in batches. Loops of whole seconds rest meanwhile: the clock stands on a whole one. */
async function flush(stage: Stage): Promise<void> {
  const { clock, wire } = stage;
  clock.advance(0.6 * second);
  await wire.quiet(60);
  stage.later(async () => {
    clock.advance(0.4 * second);
    await wire.quiet(100);
  });
}

const schedule = (trigger: object, more: object = {}) => ({
  name: 'unit',
  kind: 'agent',
  spec: { prompt: 'hello' },
  trigger,
  ...more,
});
/** Not due while units are counted. */
const yearly = { type: 'cron', expr: '0 0 1 1 *' };
const wakeScheduler = ({ gateway: { kernel }, account }: Stage): Promise<void> =>
  kernel.bus.publish(kernel.sql, 'scheduler.moved', { account: account.id, wake: true, over: [] });

/** A run that waits; answers the device that will claim it. */
async function waitingRun(stage: Stage): Promise<string> {
  const { id } = await stage.call('POST', '/v1/schedules', schedule(yearly));
  await stage.call('POST', `/v1/schedules/${id}/run`);
  return randomUUID();
}

const claim = async (stage: Stage, device: string) =>
  (await stage.call('POST', '/v1/scheduler/claim', { wait_s: 0, kinds: ['agent'] }, device)).run;

/** What a minute costs in which nothing is asked for; on a stage of their own, as work leaves traces for later. */
export const minutes: Readonly<Record<string, Unit>> = {
  'idle gateway, a minute': {
    prepare: (stage) => Promise.resolve(() => turn(stage, 60)),
  },
  'idle host, a minute': {
    async prepare(stage) {
      const host = await openHost(stage.gateway, stage.account);
      const over = new AbortController();
      // As its daemon does: one claim after the other, each waits 25 s.
      const claims = (async () => {
        while (!over.signal.aborted) await stage.call('POST', '/v1/scheduler/claim', { wait_s: 25 }, host.deviceId);
      })();
      claims.catch(() => {});
      stage.later(async () => {
        over.abort();
        host.leave();
        await turn(stage, 30);
        await claims;
      });
      await turn(stage, 2);
      return () => turn(stage, 60);
    },
    beside: (stage) => Promise.resolve(() => turn(stage, 60)),
  },
};

/** Units of work by name. */
export const units: Readonly<Record<string, Unit>> = {
  'GET with a key': {
    prepare: (stage) => Promise.resolve(() => stage.call('GET', '/v1/devices')),
  },
  'ping of a monitor': {
    async prepare(stage) {
      const { ping_url: url } = await stage.call('POST', '/v1/heartbeats', { name: 'unit', period_s: 3_600 });
      await http(stage.gateway.url, new URL(url).pathname, { method: 'POST', raw: '' });
      return () => http(stage.gateway.url, new URL(url).pathname, { method: 'POST', raw: '' });
    },
  },
  'schedule created': {
    prepare: (stage) => Promise.resolve(() => stage.call('POST', '/v1/schedules', schedule(yearly))),
  },
  'due run created': {
    async prepare(stage) {
      const { id } = await stage.call('POST', '/v1/schedules', schedule(yearly));
      await stage.gateway.kernel.sql`
        update schedules.schedules set next_run_at = ${stage.clock.instant()}::timestamptz - interval '1 s' where id = ${id}`;
      return () => wakeScheduler(stage);
    },
    beside: (stage) => Promise.resolve(() => wakeScheduler(stage)),
  },
  'run claimed': {
    async prepare(stage) {
      const device = await waitingRun(stage);
      await stage.call('POST', '/v1/scheduler/claim', { wait_s: 0, kinds: ['shell'] }, device);
      return () => claim(stage, device);
    },
  },
  'run finished': {
    async prepare(stage) {
      const device = await waitingRun(stage);
      const run = await claim(stage, device);
      const result = { attempt: run.attempt, ok: true, exit_code: 0, output: 'done' };
      return () => stage.call('POST', `/v1/schedule-runs/${run.id}/result`, result, device);
    },
  },
  'exec relayed': {
    async prepare(stage) {
      const host = await openHost(stage.gateway, stage.account);
      stage.later(() => host.leave());
      return async () => {
        const asked = stage.call('POST', `/v1/hosts/${host.deviceId}/exec`, {
          op: 'shell',
          params: { command: 'true' },
        });
        const { data } = await host.next();
        const result = { ok: true, result: { exit_code: 0, stdout: '', stderr: '' } };
        await stage.call('POST', `/v1/hosts/exec/${String(data['req_id'])}/result`, result, host.deviceId);
        await asked;
      };
    },
  },
  'exec detached': {
    async prepare(stage) {
      const host = await openHost(stage.gateway, stage.account, randomUUID(), { detached: 'true' });
      stage.later(() => host.leave());
      return async () => {
        const asked = { op: 'shell', params: { command: 'true' }, detach: true };
        const { req_id: id } = await stage.call('POST', `/v1/hosts/${host.deviceId}/exec`, asked);
        await host.next();
        await stage.call('POST', `/v1/hosts/exec/${id}/start`, { token: `the token of ${id}` }, host.deviceId);
        const result = { ok: true, token: `the token of ${id}`, result: { exit_code: 0, stdout: '', stderr: '' } };
        await stage.call('POST', `/v1/hosts/exec/${id}/result`, result, host.deviceId);
      };
    },
  },
  'notification with one channel': {
    async prepare(stage) {
      const { webhooks } = await stage.call('GET', '/v1/notifications/webhooks');
      if (webhooks.length === 0)
        await stage.call('POST', '/v1/notifications/webhooks', { name: 'unit', url: stage.hook });
      return async () => {
        const before = stage.received();
        await stage.call('POST', '/v1/notifications/test');
        await until(() => stage.received() > before);
      };
    },
  },
  'prompt launched': {
    async prepare(stage) {
      const laptop = await openDevice(stage.gateway, stage.account, { platform: 'Desktop' });
      const { id } = await stage.call('POST', '/v1/prompts', { prompt: `hello ${randomUUID()}` }, laptop.id);
      return () => stage.call('POST', `/v1/prompts/${id}/launch`, { target_device_id: laptop.id }, laptop.id);
    },
  },
  'session event': {
    async prepare(stage) {
      const { id: device } = await openDevice(stage.gateway, stage.account);
      const { id } = await stage.call('POST', '/v1/sessions', { title: 'unit' });
      const events = [{ type: 'turn_start', turn_id: randomUUID(), role: 'user', text: 'hello' }];
      const { seq } = await stage.call('POST', `/v1/sessions/${id}/events`, { expected_seq: 0, events }, device);
      const further = [{ type: 'delta', turn_id: events[0]?.turn_id, role: 'assistant', text: 'It is done.' }];
      return () => stage.call('POST', `/v1/sessions/${id}/events`, { expected_seq: seq, events: further }, device);
    },
  },
  'sandbox created': {
    async prepare(stage) {
      // An account has a few at once.
      await stage.gateway.kernel.sql`update sandboxes.sandboxes set state = 'destroyed'`;
      return () => stage.call('POST', '/v1/sandboxes', { backend: 'v2' });
    },
  },
  'chat request with its receipt': {
    prepare: (stage) =>
      Promise.resolve(async () => {
        await stage.call('POST', '/v1/chat/completions', { model: 'svc', messages: [{ role: 'user', content: 'Hi' }] });
        await flush(stage);
      }),
  },
  'piece of an upload': {
    async prepare(stage) {
      const piece = Buffer.alloc(64 * 1_024, 'x');
      const upload = await beginUpload(stage.gateway, stage.account, 4 * piece.length);
      await sendPiece(upload, stage.account, 0, piece);
      return () => sendPiece(upload, stage.account, piece.length, piece);
    },
  },
  'page fetched': {
    prepare: (stage) => {
      const url = stage.page();
      return Promise.resolve(() => stage.call('POST', '/v1/tools/fetch', { url }));
    },
  },
  'records of 100 requests': {
    prepare: (stage) =>
      Promise.resolve(async () => {
        for (let n = 0; n < 100; n += 1) await stage.call('GET', '/v1/models');
        await flush(stage);
        // Of an account that asks oftener, requests are counted by minute.
        stage.later(() => turn(stage, 60));
      }),
  },
};
