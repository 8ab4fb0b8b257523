import assert from 'node:assert/strict';
import { testClock } from '../../apps/server/src/kernel/base/clock.ts';
import { newBrowser, TestPushService } from '../../apps/server/src/features/notifications/notifications.testing.ts';
import { createAccount, http, openTest, until } from '../../apps/server/src/testing.ts';
import { trustCertificate } from '../../apps/server/src/testing.tls.ts';

/** A step of a report on a platform; `status` is that of the answer, of a monitor or of a push service. */
export type Step =
  /** A request, and what its answer holds: every word of `says`, none of `keeps`. */
  | { send: { method?: string; path: string; body?: unknown }; status: number; says?: string[]; keeps?: string[] }
  /** A monitor is made; the instant is the platform's from then on. */
  | { monitor: Record<string, unknown>; at: string }
  /** A ping to it, with what follows its address. */
  | { ping: string; at: string; body?: string; status: number }
  /** What is said of the monitor at an instant. */
  | { at: string; monitor_is: string }
  /** A push service answers a test so; 0: never. `stays`: the browser is still subscribed. */
  | { push: number; outcome: string; reason?: string; stays: boolean };

/** A platform of one test file, with a push service beside it. */
export async function openPlatform() {
  await using opening = new AsyncDisposableStack();
  const clock = testClock(Date.parse('2026-01-01T00:00:00Z'));
  const push = opening.use(new TestPushService());
  await push.listen(opening.use(trustCertificate()));
  const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${push.port}` };
  const t = opening.use(await openTest({ clock, settings }));
  const all = opening.move();
  return { ...t, clock, push, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
type Platform = Awaited<ReturnType<typeof openPlatform>>;

/** Takes the steps of a report, as an account of its own; throws where one comes out otherwise. */
export async function takeSteps(platform: Platform, steps: readonly Step[]): Promise<void> {
  const { gateway, clock } = platform;
  const { key } = await createAccount(gateway);
  const ask = (path: string, given: object = {}) => http(gateway.url, path, { key, ...given });
  const goTo = (at: string): void => clock.leap(Date.parse(at) - clock.now());
  let monitor = { id: '', path: '' };
  for (const step of steps) {
    if ('send' in step) {
      const { path, method, body } = step.send;
      const answer = await ask(path, { ...(method && { method }), ...(body !== undefined && { body }) });
      const text = JSON.stringify(answer.body);
      assert.equal(answer.status, step.status, text);
      for (const word of step.says ?? []) assert.ok(text.includes(word), `${text} does not say ${word}`);
      for (const word of step.keeps ?? []) assert.ok(!text.includes(word), `${text} says ${word}`);
    } else if ('monitor' in step) {
      goTo(step.at);
      const made = await ask('/v1/heartbeats', { body: { name: 'job', ...step.monitor } });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      monitor = { id: made.body.id, path: new URL(made.body.ping_url).pathname };
    } else if ('ping' in step) {
      goTo(step.at);
      const method = step.body === undefined ? 'GET' : 'POST';
      const sent = await fetch(gateway.url + monitor.path + step.ping, {
        method,
        ...(step.body && { body: step.body }),
      });
      assert.equal(sent.status, step.status, await sent.text());
    } else if ('monitor_is' in step) {
      goTo(step.at);
      await until(async () => (await ask(`/v1/heartbeats/${monitor.id}`)).body.status === step.monitor_is);
    } else await pushed(platform, key, step);
  }
}

async function pushed(platform: Platform, key: string, step: Extract<Step, { push: number }>): Promise<void> {
  const { gateway, push, clock } = platform;
  const path = `${step.push === 0 ? '/hang' : ''}/${step.push}/${crypto.randomUUID()}`;
  push.answers.set(
    path,
    Array.from({ length: 9 }, () => ({ status: step.push })),
  );
  const endpoint = `https://127.0.0.1:${push.port}${path}`;
  const subscriptions = '/v1/push/subscriptions';
  const made = await http(gateway.url, subscriptions, { key, body: { endpoint, keys: newBrowser().json } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const asked = http(gateway.url, '/v1/notifications/test', { method: 'POST', key });
  if (step.push === 0) {
    await until(() => push.hanging.length > 0);
    clock.advance(10_000);
  }
  const { targets } = (await asked).body;
  const target = targets.find(({ channel }: { channel: string }) => channel === 'push');
  assert.deepEqual([target.outcome, target.sent], [step.outcome, step.outcome === 'delivered']);
  if (step.reason !== undefined) assert.equal(target.reason, step.reason);
  for (const response of push.hanging.splice(0)) response.destroy();
  const left = await http(gateway.url, subscriptions, { key });
  assert.equal(left.body.subscriptions.length, step.stays ? 1 : 0, JSON.stringify(left.body));
}
