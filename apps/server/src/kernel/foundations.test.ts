import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { Route } from '@svc/contract';
import { bearerKey, checkAccess, hasScope } from './access.ts';
import { testClock } from './clock.ts';
import { span } from './commands.ts';
import type { Actor } from './context.ts';
import { createKeyring } from './crypto.ts';
import { createLog } from './log.ts';

describe('log', () => {
  test('never holds a key, a bearer token or a password of a URL, whatever field they are in', async () => {
    const key = `svc_${'a1B2'.repeat(9)}xy`;
    const out = new PassThrough();
    const log = createLog('info', out);
    log.info({ deep: { key }, list: [key] }, `message ${key}`);
    log.error({ err: new Error(`failed with ${key}`) });
    log.info('authorization: Bearer abc.def-ghi');
    log.info({ url: 'postgres://me:s3cret@host/db' });
    out.end();
    const lines = await readText(out);
    for (const secret of [key, 'abc.def-ghi', 's3cret']) assert.ok(!lines.includes(secret), lines);
    assert.equal(lines.trim().split('\n').length, 4);
    for (const line of lines.trim().split('\n')) JSON.parse(line);
  });
});

describe('keyring', () => {
  const keyring = createKeyring('one master key of enough length, for tests');

  test('opens what it sealed for the same purpose, and nothing that was changed', () => {
    const sealed = keyring.seal('a', Buffer.from('secret'));
    assert.equal(keyring.open('a', sealed).toString(), 'secret');
    assert.throws(() => keyring.open('b', sealed));
    for (let i = 0; i < sealed.length; i++) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      assert.throws(() => keyring.open('a', changed), `byte ${i}`);
    }
    assert.throws(() => createKeyring('another master key of enough length').open('a', sealed));
  });

  test('gives each purpose a key of its own', () => {
    assert.notDeepEqual(keyring.mac('a', 'x'), keyring.mac('b', 'x'));
    assert.deepEqual(keyring.mac('a', 'x'), keyring.mac('a', 'x'));
  });
});

describe('test clock', () => {
  test('fires timers in the order of their instants, repeating ones each time', () => {
    const clock = testClock(0);
    const fired: string[] = [];
    clock.every(10, () => fired.push(`every@${clock.now()}`));
    clock.after(15, () => fired.push(`after@${clock.now()}`));
    const cancel = clock.after(25, () => fired.push('cancelled'));
    cancel();
    clock.advance(30);
    assert.deepEqual(fired, ['every@10', 'after@15', 'every@20', 'every@30']);
    assert.equal(clock.now(), 30);
  });
});

describe('access', () => {
  const actor: Actor = {
    accountId: 'a',
    keyId: 'k',
    subscription: 'active',
    scopes: ['*'],
    toolLevel: 'l0',
    models: undefined,
    spendCapMicroUsd: undefined,
    expiresAt: undefined,
    spent: false,
    features: {},
  };
  const route: Route = {
    method: 'POST',
    path: '/v1/x',
    summary: '',
    auth: 'key',
    responses: {},
    toolLevel: 'l3_sandbox',
    metered: true,
  };
  const codeOf = (changes: Partial<Actor>): string => {
    try {
      checkAccess('x', route, { ...actor, toolLevel: 'l3_sandbox', ...changes });
      return 'admitted';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test('is checked in the order 402, 403 scope, 403 tool level, 429 spend cap', () => {
    const all: Partial<Actor> = { subscription: 'inactive', scopes: [], toolLevel: 'l0', spent: true };
    assert.equal(codeOf(all), 'subscription_inactive');
    assert.equal(codeOf({ ...all, subscription: 'active' }), 'forbidden');
    assert.equal(codeOf({ toolLevel: 'l2', spent: true }), 'forbidden');
    assert.equal(codeOf({ spent: true }), 'quota_exceeded');
    assert.equal(codeOf({}), 'admitted');
  });

  test('by scope: everything, a feature, or reading a feature', () => {
    assert.ok(hasScope(['*'], 'hosts', false));
    assert.ok(hasScope(['hosts'], 'hosts', false));
    assert.ok(hasScope(['hosts:read'], 'hosts', true));
    assert.ok(!hasScope(['hosts:read'], 'hosts', false));
    assert.ok(!hasScope(['host'], 'hosts', true));
    assert.ok(!hasScope([], 'hosts', true));
  });

  test('a key is read from the header alone, whatever the case of Bearer', () => {
    const key = `svc_${'0'.repeat(38)}`;
    for (const header of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key} `])
      assert.equal(bearerKey(header, '/v1/x'), key);
    for (const header of [undefined, '', key, `Basic ${key}`, 'Bearer', `Bearer ${key} more`]) {
      assert.throws(() => bearerKey(header, '/v1/x'), { code: 'invalid_api_key' });
    }
    for (const query of [`?k=${key}`, `?${key}`, `?k=%73vc_${'0'.repeat(38)}`]) {
      if (query.includes('svc'))
        assert.throws(() => bearerKey(`Bearer ${key}`, `/v1/x${query}`), { code: 'invalid_api_key' });
    }
    assert.equal(bearerKey(`Bearer ${key}`, '/v1/x?name=svc_short'), key);
  });
});

describe('spans of time in commands', () => {
  test('are read in every unit, and refused when they are none', () => {
    assert.deepEqual(['90', '90s', '30m', '12h', '30d', '2w'].map(span), [90, 90, 1800, 43_200, 2_592_000, 1_209_600]);
    for (const bad of ['', '0', '-1', '1y', 'soon', '1.5h']) assert.throws(() => span(bad), /must be a span/);
  });
});
