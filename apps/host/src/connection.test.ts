import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createClient } from '@svc/sdk';
import { createBackoff } from './backoff.ts';
import { type ConnectionTiming, defaultTiming, stayConnected } from './connection.ts';
import { until } from './testing.ts';
import { type FakeGateway, fakeGateway, refuse, testKey } from './testing.gateway.ts';

const quick: ConnectionTiming = { retryMs: [5, 40], stableMs: 20, silenceMs: 1_000 };

function connect(t: TestContext, gateway: FakeGateway, timing = quick) {
  const stop = new AbortController();
  const logged: string[] = [];
  const events: string[] = [];
  let connected = 0;
  const done = stayConnected({
    client: createClient({ baseUrl: gateway.url, apiKey: testKey, retries: 0, device: { id: crypto.randomUUID() } }),
    presence: async () => ({ os: 'Test', hostname: 'here', roots: ['/a', '/b'] }),
    onConnected: () => {
      connected += 1;
    },
    onSuspended: () => {},
    onEvent: (event) => events.push(event),
    log: (text) => logged.push(text),
    signal: stop.signal,
    timing,
  });
  done.catch(() => {});
  t.after(() => stop.abort());
  return { done, stop, logged, events, connected: () => connected };
}

/** Refuses the first `count` requests with `status` and notes when they and the next one came. */
function refusing(gateway: FakeGateway, count: number, status: number, headers: object = {}): number[] {
  const times: number[] = [];
  gateway.intercept = (_: IncomingMessage, response: ServerResponse) => {
    times.push(performance.now());
    if (times.length > count) return false;
    refuse(response, status, 'test', headers);
    return true;
  };
  return times;
}

test('a cut stream is opened again, and events arrive on it', async (t) => {
  const gateway = await fakeGateway(t);
  // On a busy machine a second of silence passes while nothing is wrong.
  const { events, connected } = connect(t, gateway, { ...quick, silenceMs: 60_000 });
  for (let round = 1; round <= 3; round += 1) {
    (await gateway.stream()).drop();
  }
  (await gateway.stream()).send('exec', {});
  await until(() => events.includes('exec'), 'the event arrived');
  assert.deepEqual([connected(), events.filter((event) => event === 'ready').length], [4, 4]);
});

test('a stream on which nothing comes, not even a ping, is taken for dead; pings keep it', async (t) => {
  const gateway = await fakeGateway(t);
  const { logged, connected } = connect(t, gateway);
  const first = await gateway.stream();
  const ping = setInterval(() => first.ping(), 50);
  const begun = performance.now();
  await until(() => performance.now() - begun > 2 * quick.silenceMs, 'twice the silence');
  assert.equal(connected(), 1);
  clearInterval(ping);
  await gateway.stream();
  assert.match(logged.join(), /connection lost: the gateway went silent/);
});

test('a gateway that accepts and never answers is left after the same silence', async (t) => {
  const gateway = await fakeGateway(t);
  let held = 0;
  gateway.intercept = () => {
    held += 1;
    return held === 1;
  };
  const { logged } = connect(t, gateway);
  await gateway.stream();
  assert.match(logged.join(), /cannot connect: the gateway went silent/);
});

test('5xx, refused connections and paused keys are tried again, one line for each kind of failure', async (t) => {
  const gateway = await fakeGateway(t);
  refusing(gateway, 5, 503);
  const { logged } = connect(t, gateway);
  await gateway.stream();
  assert.equal(logged.length, 1);
  assert.match(logged[0] ?? '', /^cannot connect: 503 /);
  for (const [status, line] of [
    [401, /refuses this key for now: 401/],
    [402, /refuses this key for now: 402/],
    [403, /refuses this key for now: 403/],
  ] as const) {
    refusing(gateway, 2, status);
    await gateway.stop();
    await gateway.start();
    await gateway.stream();
    assert.match(logged.join('|'), line);
  }
});

test('Retry-After is waited for', async (t) => {
  const gateway = await fakeGateway(t);
  const times = refusing(gateway, 1, 429, { 'retry-after': '1' });
  connect(t, gateway);
  await gateway.stream();
  assert.ok((times[1] ?? 0) - (times[0] ?? 0) >= 1000);
});

test('401 as the first answer ends the attempt, also after the gateway was down', async (t) => {
  const gateway = await fakeGateway(t);
  await gateway.stop();
  const { done, logged } = connect(t, gateway);
  await until(() => logged.length > 0, 'the refused connection is told');
  refusing(gateway, 1, 401);
  await gateway.start();
  await assert.rejects(done, { name: 'CommandError', message: /refuses the API key: 401/ });
});

test('stopping ends an open stream and a wait alike', async (t) => {
  const gateway = await fakeGateway(t);
  const open = connect(t, gateway);
  await gateway.stream();
  open.stop.abort();
  await open.done;
  await gateway.stop();
  const waiting = connect(t, gateway, { ...quick, retryMs: [60_000, 60_000] });
  await until(() => waiting.logged.length > 0, 'it waits');
  waiting.stop.abort();
  await waiting.done;
});

test('waits have full jitter between 0.5 and 15 s under a doubling cap, and start over when reset', () => {
  const [min, max] = defaultTiming.retryMs;
  const longest = createBackoff(min, max, () => 1);
  assert.deepEqual(
    Array.from({ length: 7 }, () => longest.next()),
    [1000, 2000, 4000, 8000, 15_000, 15_000, 15_000],
  );
  longest.reset();
  assert.equal(longest.next(), 1000);
  const shortest = createBackoff(min, max, () => 0);
  assert.deepEqual([shortest.next(), shortest.next(), shortest.next()], [500, 500, 500]);
});
