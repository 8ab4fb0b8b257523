import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { createClient, isSvcError, SvcError } from '@svc/sdk';
import { shared } from './testing.shared.ts';
import { clientOf, openTest } from './testing.ts';

describe('the SDK against a gateway', () => {
  const { gateway, account } = shared(() => openTest());

  test('a failure has its code, its trace id, and the messages of each faulty field', async () => {
    const client = clientOf(gateway, account.key);
    const failure = await client.keys.create({ body: { name: '' } }).catch((error: unknown) => error);
    assert.ok(isSvcError(failure, 'bad_request'));
    assert.deepEqual([failure.status, Object.keys(failure.fieldErrors)], [400, ['name']]);
    assert.ok(failure.traceId);
    assert.equal(isSvcError(failure, 'not_found', 'forbidden'), false);
    const missing = await client.schedules.get({ params: { id: randomUUID() } }).catch((error: unknown) => error);
    assert.ok(isSvcError(missing, 'not_found', 'forbidden'));
    assert.equal(isSvcError(new Error('another')), false);
  });

  test('a gateway that does not answer is told from one that refuses', async () => {
    const nobody = createClient({ baseUrl: 'http://127.0.0.1:9', apiKey: account.key, retries: 0 });
    const failure = await nobody.keys.list().catch((error: unknown) => error);
    assert.ok(failure instanceof SvcError && isSvcError(failure, 'connection_error'));
    assert.equal(failure.status, 0);
  });

  test('a list comes whole, page after page', async () => {
    const client = clientOf(gateway, account.key);
    for (const n of [1, 2, 3, 4, 5]) await client.keys.create({ body: { name: `page ${n}` } });
    const whole = (await client.keys.list()).keys.map(({ id }) => id);
    const paged: string[] = [];
    for await (const { id } of client.keys.list.all({ query: { limit: 2 } })) paged.push(id);
    assert.ok(paged.length >= 6);
    assert.deepEqual(paged, whole);
  });

  test('fields that the gateway ignores are a warning, once for each set', async () => {
    const warnings: string[] = [];
    const options = {
      baseUrl: gateway.url,
      apiKey: account.key,
      onWarning: (message: string) => warnings.push(message),
    };
    const client = createClient(options);
    for (const more of [{}, { nmae: 1 }, { nmae: 2 }, { nmae: 1, level: 1 }])
      await client.keys.create({ body: { name: 'k', ...more } });
    assert.deepEqual(warnings, [
      'svc: POST /v1/keys ignores these fields: nmae',
      'svc: POST /v1/keys ignores these fields: nmae, level',
    ]);
  });

  test('a ping carries what the job says', async () => {
    const client = clientOf(gateway, account.key);
    const monitor = await client.heartbeats.create({ body: { name: 'job', period_s: 60, grace_s: 60 } });
    const token = (monitor.ping_url ?? '').split('/').at(-1) ?? '';
    assert.equal(await client.heartbeats.signal({ params: { token, signal: 'fail' }, body: 'the disk is full' }), 'OK');
    const { pings } = await client.heartbeats.pings({ params: { id: monitor.id } });
    assert.equal(pings[0]?.body, 'the disk is full');
  });

  test('a parameter of the path that is missing is said before anything is sent', async () => {
    const client = clientOf(gateway, account.key);
    const params = {} as { id: string };
    await assert.rejects(client.schedules.get({ params }), { name: 'TypeError', message: 'params.id is missing' });
  });

  test('a parameter of the path that would lead to another route is refused before anything is sent', async () => {
    const client = clientOf(gateway, account.key);
    for (const id of ['.', '..'])
      await assert.rejects(client.schedules.get({ params: { id } }), { name: 'TypeError', message: /params\.id/ });
    for (const path of ['..', 'a/../b', './a'])
      await assert.rejects(client.sandboxes.readFile({ params: { id: 'x', path } }), { message: /params\.path/ });
  });

  test('headers of a call reach the gateway, and those of its answer the caller', async () => {
    let seen: { status: number; headers: Headers } | undefined;
    await clientOf(gateway, account.key).keys.list(
      {},
      { headers: { 'x-request-id': 'from the caller' }, onResponse: (response) => (seen = response) },
    );
    assert.deepEqual([seen?.status, seen?.headers.get('x-svc-trace-id')], [200, 'from the caller']);
    assert.match(seen?.headers.get('ratelimit') ?? '', /\d/);
  });

  test('a repeat with the same idempotency key answers the first result', async () => {
    const client = clientOf(gateway, account.key);
    const trigger = { type: 'event', trigger_id: 'go' } as const;
    const body = { name: 'once', kind: 'agent', spec: { prompt: 'x' }, trigger } as const;
    const once = () => client.schedules.create({ body }, { idempotencyKey: 'sdk-once' });
    assert.equal((await once()).id, (await once()).id);
  });
});

/** A gateway that answers as it is told, one answer after the other; it keeps what was asked. */
async function openScripted(answers: ((response: ServerResponse) => void)[]) {
  const asked: { method: string; path: string; key: string | undefined }[] = [];
  const server = createServer(({ method = '', url = '', headers }, response) => {
    asked.push({ method, path: url, key: headers['idempotency-key'] as string | undefined });
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'svc_x' });
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
  };
  return { asked, client, [Symbol.asyncDispose]: close };
}

const answerOf =
  (status: number, body: object, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refusal = (code: string) => ({ error: { code, message: 'no', type: 'api_error' } });
const hangUp = (response: ServerResponse): void => void response.destroy();

describe('repeats and time of the SDK', () => {
  test('429 and 503 are asked again when they say Retry-After, and not otherwise', async () => {
    const later = { 'retry-after': '0' };
    await using gateway = await openScripted([
      answerOf(503, refusal('unavailable'), later),
      answerOf(429, refusal('rate_limit_exceeded'), later),
      answerOf(200, { keys: [] }),
      answerOf(429, refusal('quota_exceeded')),
      answerOf(503, refusal('unavailable'), { 'retry-after': '3600' }),
    ]);
    assert.deepEqual(await gateway.client.keys.list(), { keys: [] });
    assert.equal(gateway.asked.length, 3);
    await assert.rejects(gateway.client.keys.list(), { code: 'quota_exceeded' });
    await assert.rejects(gateway.client.keys.list(), { code: 'unavailable', retryAfter: 3600 });
    assert.equal(gateway.asked.length, 5);
  });

  test('a connection that broke is tried again only when a repeat does nothing twice, with the same key', async () => {
    await using gateway = await openScripted([hangUp, answerOf(201, { id: 'made' }), hangUp]);
    assert.equal((await gateway.client.keys.create({ body: { name: 'x' } })).id, 'made');
    const [first, second] = gateway.asked;
    assert.ok(first?.key);
    assert.equal(second?.key, first.key);
    // Not honoured there: a second reading of all would hide what came between.
    await assert.rejects(gateway.client.notifications.readAll(), { code: 'connection_error' });
    assert.equal(gateway.asked.length, 3);
  });

  test('a write whose answer was lost waits for the first attempt, and gets its answer', async () => {
    const inFlight = answerOf(409, refusal('idempotency_in_flight'), { 'retry-after': '0' });
    await using gateway = await openScripted([
      hangUp,
      ...Array.from({ length: 5 }, () => inFlight),
      answerOf(201, { id: 'made' }),
    ]);
    assert.equal((await gateway.client.keys.create({ body: { name: 'x' } })).id, 'made');
    assert.equal(gateway.asked.length, 7);
    assert.equal(new Set(gateway.asked.map(({ key }) => key)).size, 1);
  });

  test('what a proxy answers in place of the gateway is a lost answer, and so is half an answer', async () => {
    const page = (status: number) => (response: ServerResponse) =>
      void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    const half = (response: ServerResponse): void => {
      response.writeHead(201, { 'content-length': '100' }).write('{"id":', () => response.destroy());
    };
    await using gateway = await openScripted([page(502), half, answerOf(201, { id: 'made' }), page(504)]);
    assert.equal((await gateway.client.keys.create({ body: { name: 'x' } })).id, 'made');
    assert.equal(new Set(gateway.asked.map(({ key }) => key)).size, 1);
    await assert.rejects(gateway.client.notifications.readAll(), { status: 504 });
    assert.equal(gateway.asked.length, 4);
  });

  test('an answer of the gateway’s own is none of a proxy: it is not asked for again', async () => {
    await using gateway = await openScripted([answerOf(504, refusal('host_timeout'))]);
    const body = { op: 'info', args: {} } as const;
    await assert.rejects(gateway.client.hosts.exec({ params: { device_id: randomUUID() }, body }), {
      code: 'host_timeout',
    });
    assert.equal(gateway.asked.length, 1);
  });

  test('an answer that does not come in time is told as such, and its body too', async () => {
    await using silent = await openScripted([() => {}]);
    await assert.rejects(silent.client.keys.list({}, { timeoutMs: 50, retries: 0 }), { code: 'timeout', status: 0 });
    await using half = await openScripted([(response) => void response.writeHead(200).write('{"keys":[')]);
    await assert.rejects(half.client.keys.list({}, { timeoutMs: 50, retries: 0 }), { code: 'timeout' });
  });

  test('the caller’s own abort is no failure of the gateway, and ends a wait between repeats', async () => {
    await using gateway = await openScripted([answerOf(503, refusal('unavailable'), { 'retry-after': '50' })]);
    const abort = new AbortController();
    const asking = gateway.client.keys.list({}, { signal: abort.signal, onResponse: () => abort.abort() });
    await assert.rejects(asking, { name: 'AbortError' });
    assert.equal(gateway.asked.length, 1);
  });

  test('readiness is a record whether it is ready or not', async () => {
    const record = { ok: false, checks: {}, s1: {} };
    await using gateway = await openScripted([answerOf(503, record)]);
    assert.deepEqual(await gateway.client.health.ready(), record);
  });

  test('settings come from the environment unless they are given', async () => {
    const before = { ...process.env };
    try {
      const fetched: [string, string | null][] = [];
      const see = (async (url: string, init: RequestInit) => {
        fetched.push([url, new Headers(init.headers).get('authorization')]);
        return Response.json({ keys: [] });
      }) as typeof fetch;
      process.env['SVC_BASE_URL'] = 'http://gateway.test/';
      process.env['SVC_API_KEY'] = 'svc_env';
      await createClient({ fetch: see }).keys.list();
      await createClient({ fetch: see, baseUrl: 'http://given.test', apiKey: 'svc_given' }).keys.list();
      assert.deepEqual(fetched, [
        ['http://gateway.test/v1/keys', 'Bearer svc_env'],
        ['http://given.test/v1/keys', 'Bearer svc_given'],
      ]);
    } finally {
      for (const name of ['SVC_BASE_URL', 'SVC_API_KEY']) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });
});
