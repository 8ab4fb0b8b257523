import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, test } from 'node:test';
import { startGateway, until } from '../../../testing.ts';
import { shared } from '../../../testing.shared.ts';
import { trustCertificate } from '../../../testing.tls.ts';
import { type Json, openScheduler, type SchedulerTest } from '../scheduler.testing.ts';

describe('scheduler: webhooks of the cloud', () => {
  let t: SchedulerTest;
  let server: Server;
  let url: string;
  let answer: (request: IncomingMessage, body: string, response: ServerResponse) => void;
  const requests: { method: string | undefined; path: string | undefined; headers: Json; body: string }[] = [];
  const base = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { key, cert } = opening.use(trustCertificate());
    server = createServer({ key, cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        requests.push({ method: request.method, path: request.url, headers: request.headers, body });
        answer(request, body, response);
      });
    });
    opening.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    url = `https://127.0.0.1:${port}`;
    const settings = { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: `443,${port}` };
    const t = opening.use(await openScheduler({ settings }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  beforeEach(async () => {
    t = await base.fresh();
    requests.length = 0;
    answer = (_request, _body, response) => response.end('fine');
  });
  const webhook = (spec: Json, fields: Json = {}) =>
    t.create({
      kind: 'http',
      trigger: { type: 'event', trigger_id: 'x' },
      spec: { url: `${url}/hook`, ...spec },
      ...fields,
    });

  test('sends method, headers and body, and keeps what was answered', async () => {
    const schedule = await webhook({ method: 'PUT', headers: { 'x-token': 'abc' }, body: '{"a":1}' });
    await t.runNow(schedule);
    const run = await t.turnTo(0, schedule, 'succeeded');
    assert.equal(run.log_tail, 'fine');
    assert.equal(run.device_id, undefined);
    assert.deepEqual(
      requests.map(({ method, path, headers, body }) => [method, path, headers['x-token'], body]),
      [['PUT', '/hook', 'abc', '{"a":1}']],
    );
  });

  test('any 2xx is success unless expect_status says otherwise', async () => {
    const outcome = async (status: number, expected?: number): Promise<string> => {
      answer = (_request, _body, response) => response.writeHead(status).end();
      const schedule = await webhook({ ...(expected !== undefined && { expect_status: expected }) });
      await t.runNow(schedule);
      let state = '';
      await t.turn(0, async () => {
        const [run] = await t.runsOf(schedule);
        state = run.state === 'failed' ? run.error : run.state;
        return run.state === 'failed' || run.state === 'succeeded';
      });
      return state;
    };
    assert.equal(await outcome(204), 'succeeded');
    assert.equal(await outcome(500), 'answered 500, expected 2xx');
    assert.equal(await outcome(404, 404), 'succeeded');
    assert.equal(await outcome(200, 201), 'answered 200, expected 201');
  });

  test('on_change: an answer longer than what is kept of it is compared whole, its times aside', async () => {
    const schedule = await webhook({}, { notify: 'on_change' });
    const told = async (body: string): Promise<number> => {
      answer = (_request, _body, response) => response.end(body);
      await t.runNow(schedule);
      // A second each, so that the newest run is this one.
      await t.turnTo(1_000, schedule, 'succeeded');
      return (await t.call('GET', '/v1/notifications')).body.notifications.length;
    };
    const lines = 'always the same\n'.repeat(10_000);
    assert.equal(await told(`v1\n${lines}at 9:00:00`), 0);
    assert.equal(await told(`v1\n${lines}at 10:00:00`), 0);
    assert.equal(await told(`v2\n${lines}at 10:00:00`), 1);
    assert.equal(await told('v2'), 2);
  });

  test('a failed webhook is retried as any run is', async () => {
    let calls = 0;
    answer = (_request, _body, response) => {
      calls += 1;
      response.writeHead(calls === 1 ? 503 : 200).end();
    };
    const schedule = await webhook({}, { retries: 1, retry_backoff_s: 5 });
    await t.runNow(schedule);
    await t.turn(0, async () => (await t.runsOf(schedule))[0].attempt === 2);
    assert.equal((await t.turnTo(5_000, schedule, 'succeeded')).attempt, 2);
  });

  test('private addresses are out of reach, and nothing is told of what is there', async () => {
    for (const address of [
      'https://10.0.0.1/',
      'https://localhost/',
      'https://169.254.169.254/latest',
      'https://[::1]/',
    ]) {
      // Refused when it is saved, and when it runs: one of an earlier version was not looked at.
      const schedule = await webhook({});
      const spec = JSON.stringify({ ...schedule.spec, url: address });
      await t.gateway.kernel.sql`update schedules.schedules set spec = ${spec} where id = ${schedule.id}`;
      await t.runNow(schedule);
      const run = await t.turnTo(0, schedule, 'failed');
      assert.equal(run.log_tail, undefined);
      assert.doesNotMatch(run.error, /ECONN|refused by|10\.0\.0\.1/);
    }
  });

  test('a slow answer ends with the timeout, a cancelled run with its request', async () => {
    answer = () => {};
    const schedule = await webhook({}, { timeout_s: 1 });
    await t.runNow(schedule);
    await t.turn(0, async () => requests.length === 1);
    await t.turn(1_000, async () => ['timed_out', 'failed'].includes((await t.runsOf(schedule))[0].state));
    assert.equal((await t.runsOf(schedule))[0].state, 'timed_out');
    const slow = await webhook({});
    await t.runNow(slow);
    await t.turn(0, async () => requests.length === 2);
    const [run] = await t.runsOf(slow);
    await t.call('POST', `/v1/schedule-runs/${run.id}/cancel`);
    await t.turn(20_000, async () => (await t.runsOf(slow))[0].state === 'cancelled');
  });

  test('one account’s webhooks take four places at most, and another’s go out while these hang', async () => {
    const hanging: ServerResponse[] = [];
    answer = (request, _body, response) => {
      if (request.url === '/slow') hanging.push(response);
      else response.end('fine');
    };
    const greedy = t;
    const slow = await Promise.all(
      Array.from({ length: 18 }, () => webhook({ url: `${url}/slow` }, { timeout_s: 600 })),
    );
    for (const schedule of slow) await greedy.runNow(schedule);
    await greedy.turn(0, async () => hanging.length === 4);
    t = await base.fresh();
    const quick = await Promise.all(Array.from({ length: 3 }, () => webhook({})));
    for (const schedule of quick) await t.runNow(schedule);
    for (const schedule of quick) await t.turnTo(0, schedule, 'succeeded');
    assert.equal(hanging.length, 4);
    // A place that comes free goes to the next of those that wait.
    hanging[0]?.end('done');
    await greedy.turn(0, async () => hanging.length === 5);
    for (let i = 1; i < 18; i++) {
      await greedy.turn(0, async () => hanging.length > i);
      hanging[i]?.end('done');
    }
    for (const schedule of slow) await greedy.turnTo(0, schedule, 'succeeded');
  });

  test('a gateway that stops hands its webhooks back for another attempt', async () => {
    answer = () => {};
    const schedule = await webhook({});
    await t.runNow(schedule);
    await t.turn(0, async () => requests.length === 1);
    await using other = await startGateway(t.database, {
      clock: t.clock,
      settings: { SVC_FETCH_ALLOW_HOSTS: '127.0.0.1', SVC_FETCH_PORTS: new URL(url).port },
    });
    // The other gateway may take it before this one is closed.
    answer = (_request, _body, response) => response.end('second');
    let isClosed = false;
    const closing = base.gateway.close().then(() => {
      isClosed = true;
    });
    // The three seconds that runs have to end, from whenever the drain has begun.
    await until(() => {
      if (!isClosed) t.clock.advance(100);
      return isClosed;
    });
    await closing;
    const key = { authorization: `Bearer ${t.account.key}` };
    await until(async () => {
      // Little by little: a clock that runs ahead of a busy machine takes the lease of the second attempt too.
      t.clock.advance(50);
      const list = await fetch(`${other.url}/v1/schedules/${schedule.id}/runs`, { headers: key });
      const { runs } = (await list.json()) as Json;
      if (runs[0].state !== 'succeeded') return false;
      assert.equal(runs[0].attempt, 2);
      return true;
    });
  });
});
