import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { http, openTest } from '../../testing.ts';

describe('a request that no route takes', () => {
  const { gateway, account } = shared(() => openTest());
  const ask = async (method: string, path: string) => {
    const response = await fetch(gateway.url + path, { method });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.deepEqual([response.status, error.code], [404, 'not_found'], path);
    return { message: error.message, allow: response.headers.get('allow') };
  };

  test('is told the methods of its path, with an allow header', async () => {
    assert.deepEqual(await ask('PUT', '/v1/keys?x=1'), {
      message: 'no such route; this path takes: GET, HEAD, POST /v1/keys',
      allow: 'GET, HEAD, POST',
    });
    assert.match((await ask('POST', '/v1/schedules/some-id')).message, /GET, HEAD, .*\/v1\/schedules\/\{id\}/);
  });

  test('is told the nearest routes, and nothing of what it asked for', async () => {
    for (const [path, nearest] of [
      ['/v1/keyz', '/v1/keys'],
      ['/v1/key', '/v1/keys'],
      ['/keys', '/v1/keys'],
      ['/V1/keys', '/v1/keys'],
      ['/v1/audit/', '/v1/audit'],
      ['/v1/schedule_runs/some-id', '/v1/schedule-runs/{id}'],
    ] as const) {
      const { message, allow } = await ask('GET', path);
      assert.ok(message.startsWith('no such route; the nearest: ') && message.includes(` ${nearest}`), message);
      assert.equal(allow, null);
    }
    for (const path of ['/v1/nothing-like-it', '/x', `/${'a'.repeat(3_000)}`, `/v1${'/a'.repeat(1_500)}`]) {
      assert.equal((await ask('GET', path)).message, 'no such route; /docs lists all of them');
    }
  });

  test('/docs/ leads to /docs', async () => {
    const response = await fetch(`${gateway.url}/docs/`, { redirect: 'manual' });
    assert.deepEqual([response.status, response.headers.get('location')], [308, '/docs']);
  });

  test('fields of a body that mean nothing are ignored, and named in a header', async () => {
    const create = async (more: object) => {
      const { status, headers } = await http(gateway.url, '/v1/keys', {
        key: account.key,
        body: { name: 'k', ...more },
      });
      return [status, headers.get('x-svc-ignored-fields')];
    };
    assert.deepEqual(await create({}), [201, null]);
    assert.deepEqual(await create({ nmae: 'x', 'a, b\r\n\ud800': 1 }), [201, 'nmae, a%2C%20b%0D%0A%EF%BF%BD']);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`${index}-${'ș'.repeat(1_000)}`, 1]));
    const [status, named] = await create(many);
    assert.ok(status === 201 && typeof named === 'string' && named.length < 4_096 && named.split(', ').length === 10);
  });
});
