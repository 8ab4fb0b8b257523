import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { json, type Route, route, toolLevels } from '@svc/contract';
import { z } from 'zod';
import { generateKey } from '../../features/keys/keys.rules.ts';
import { bearerKey, checkAccess, refuseKeyInQuery } from './access.ts';
import type { Actor } from '../base/actor.ts';

const actor: Actor = {
  accountId: 'a',
  credentialId: 'k',
  kind: 'key',
  keyId: 'k',
  subscription: 'active',
  suspended: false,
  scopes: ['*'],
  toolLevel: 'l0',
  models: undefined,
  spendCapMicroUsd: undefined,
  expiresAt: undefined,
  spent: false,
  features: {},
};
const routeOf = (change: Partial<Route> = {}): Route =>
  route({ method: 'POST', path: '/v1/x', summary: 'x', auth: 'key', answers: json(z.object({})), ...change });
const codeOf = (change: Partial<Actor>, of: Partial<Route> = {}): string => {
  try {
    checkAccess('x', routeOf(of), { ...actor, ...change });
    return 'allowed';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('access', () => {
  test('a key is read from Authorization: Bearer only', () => {
    const key = generateKey();
    for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER  ${key} `]) assert.equal(bearerKey(header), key);
    for (const header of [undefined, '', 'Bearer', 'Bearer ', key, `Token ${key}`, `Bearer ${key},${key} x`]) {
      assert.throws(() => bearerKey(header), { code: 'invalid_api_key' }, header);
    }
  });

  test('a key anywhere in the query is refused, however it is encoded; one in the path or a part of one is not', () => {
    const key = generateKey();
    const hex = (text: string) => Array.from(text, (c) => `%${c.charCodeAt(0).toString(16)}`).join('');
    for (const query of [
      key,
      `a=${key}`,
      `a=1&b=x${key}y`,
      hex(key),
      `%73${key.slice(1)}`,
      `%&x=${hex(key)}`,
      `%E0%A4%A&k=${key}`,
    ]) {
      assert.throws(() => refuseKeyInQuery(`/v1/x?${query}`), { code: 'invalid_api_key' }, query);
    }
    for (const url of ['/v1/x', '/v1/x?a=svc_1', `/v1/x?${key.slice(0, 30)}`, `/v1/${key}`]) {
      refuseKeyInQuery(url);
    }
  });

  test('402 comes before 403, 403 before the spend cap', () => {
    const metered = { metered: true, toolLevel: 'l1' } as const;
    const all = { subscription: 'inactive', scopes: [], spent: true } as const;
    assert.equal(codeOf(all, metered), 'subscription_inactive');
    assert.equal(codeOf({ ...all, subscription: 'active' }, metered), 'forbidden');
    assert.equal(codeOf({ spent: true }, metered), 'forbidden');
    assert.equal(codeOf({ spent: true, toolLevel: 'l1' }, metered), 'quota_exceeded');
    assert.equal(codeOf({ spent: true }), 'allowed', 'a spent key still does what costs nothing');
  });

  test('a reached spend cap says not to retry', () => {
    assert.throws(() => checkAccess('x', routeOf({ metered: true }), { ...actor, spent: true }), {
      code: 'quota_exceeded',
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    });
  });

  test('tool levels include the weaker ones', () => {
    for (const [i, have] of toolLevels.entries()) {
      for (const [j, need] of toolLevels.entries()) {
        assert.equal(codeOf({ toolLevel: have }, { toolLevel: need }), i >= j ? 'allowed' : 'forbidden');
      }
    }
  });

  test('scopes: all, a feature, or a feature for reading', () => {
    const may = (scopes: string[], of: Partial<Route> = {}) => codeOf({ scopes }, of) === 'allowed';
    const reading = { method: 'GET' } as const;
    assert.ok(may(['*']) && may(['keys', 'x']) && may(['x'], reading) && may(['x:read'], reading));
    assert.ok(!may(['x:read']) && !may(['x2', 'keys'], reading) && !may([], reading));
  });

  test('a route that names its scopes is called with one of these, or with all, and with nothing else of its feature', () => {
    const serving = { method: 'GET', scopes: ['hosts:serve'] } as const;
    const allowed = (['*', 'x', 'x:read', 'hosts', 'hosts:read', 'hosts:exec', 'hosts:serve'] as const).filter(
      (scope) => codeOf({ scopes: [scope] }, serving) === 'allowed',
    );
    assert.deepEqual(allowed, ['*', 'hosts:serve']);
  });
});
