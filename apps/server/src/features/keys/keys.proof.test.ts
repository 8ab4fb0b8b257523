import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reachOf, scopeNames } from '@svc/contract';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest } from '../../testing.ts';
import { signIn } from '../me/me.testing.ts';

describe('a person whose proof is old', () => {
  const { gateway } = shared(() => openTest());
  const old = async () => {
    const account = await createAccount(gateway);
    return signIn(gateway, account, { provedAt: Date.now() - 3_600_000 });
  };

  test('makes no strong key by leaving out what it may do', async () => {
    const login = await old();
    assert.equal(await login.said('POST', '/v1/keys', {}), '403 reauth_required');
    assert.equal(await login.said('POST', '/v1/keys', { scopes: ['sandboxes'] }), '403 reauth_required');
    assert.equal(await login.said('POST', '/v1/keys', { scopes: ['usage:read'] }), '201');
  });

  test('makes no key that reaches anything, whatever it reaches, and no weak key one', async () => {
    const login = await old();
    const { id } = (await login.ask('POST', '/v1/keys', { scopes: ['usage:read'] })).body as { id: string };
    for (const scope of scopeNames) {
      const expected = reachOf([scope]).length > 0 ? '403 reauth_required' : '201';
      assert.equal(await login.said('POST', '/v1/keys', { scopes: [scope] }), expected, scope);
      if (expected !== '201')
        assert.equal(await login.said('PATCH', `/v1/keys/${id}`, { scopes: [scope] }), expected, scope);
    }
  });

  test('gives no key that costs more to spend, other models, or a longer life', async () => {
    const login = await old();
    const fresh = await signIn(gateway, { id: (await login.ask('GET', '/v1/me')).body.account.id });
    const terms = { scopes: ['chat'], spend_cap_micro_usd: 1, models: ['svc'] };
    const { id } = (await fresh.ask('POST', '/v1/keys', terms)).body as { id: string };
    for (const change of [{ spend_cap_micro_usd: null }, { models: null }, { expires_at: null }, { status: 'active' }])
      assert.equal(await login.said('PATCH', `/v1/keys/${id}`, change), '403 reauth_required', JSON.stringify(change));
    assert.equal(await login.said('PATCH', `/v1/keys/${id}`, { status: 'paused' }), '200', 'who takes away needs none');
  });

  test('makes no key strong that was weak', async () => {
    const login = await old();
    const { id } = (await login.ask('POST', '/v1/keys', { scopes: ['usage:read'] })).body as { id: string };
    const path = `/v1/keys/${id}`;
    for (const change of [{ scopes: ['*'] }, { scopes: ['keys'] }, { tool_level: 'l3_sandbox' }])
      assert.equal(await login.said('PATCH', path, change), '403 reauth_required', JSON.stringify(change));
    assert.equal(await login.said('PATCH', path, { scopes: ['heartbeats'], name: 'Pings' }), '200');
  });
});
