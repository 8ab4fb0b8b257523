import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
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
    const nobody = createClient({ baseUrl: 'http://127.0.0.1:9', apiKey: account.key });
    const failure = await nobody.keys.list().catch((error: unknown) => error);
    assert.ok(failure instanceof SvcError && isSvcError(failure, 'connection_error'));
    assert.equal(failure.status, 0);
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
