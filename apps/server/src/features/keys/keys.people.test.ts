import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { bySystem } from '../../kernel/records/audit.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { createLogin } from '../auth/index.ts';

describe('keys that a signed-in person makes', () => {
  const { gateway } = shared(() => openTest());

  /** The headers of a browser in which the person proved so many minutes ago who they are. */
  async function signedIn({ id: accountId }: TestAccount, minutes: number): Promise<Record<string, string>> {
    const { kernel } = gateway;
    const { token } = await createLogin(kernel, {
      accountId,
      amr: ['pwd'],
      authTime: kernel.clock.now() - minutes * 60_000,
      name: 'Firefox on Linux',
      platform: 'Linux',
      network: '192.0.2.1',
      by: bySystem,
    });
    return { cookie: `__Host-svc_login=${token}`, 'sec-fetch-site': 'same-origin' };
  }

  const ask = async (headers: Record<string, string>, method: string, path: string, body: object) => {
    const answer = await http(gateway.url, path, { method, headers, body });
    return { status: answer.status, code: answer.body.error?.code, body: answer.body };
  };

  test('want a fresh proof when they are strong, also by default and by a later change', async () => {
    const account = await createAccount(gateway);
    const [old, fresh] = [await signedIn(account, 11), await signedIn(account, 1)];
    const strong = [
      { name: 'all' },
      { name: 'all', scopes: ['*'] },
      { name: 'keys', scopes: ['keys'] },
      { name: 'exec', scopes: ['hosts:exec'] },
      { name: 'boxes', scopes: ['sandboxes'] },
      { name: 'level', scopes: ['heartbeats'], tool_level: 'l3_sandbox' },
    ];
    for (const body of strong) {
      const refused = await ask(old, 'POST', '/v1/keys', body);
      assert.deepEqual([refused.status, refused.code], [403, 'reauth_required'], JSON.stringify(body));
      assert.equal((await ask(fresh, 'POST', '/v1/keys', body)).status, 201, JSON.stringify(body));
    }
    const weak = await ask(old, 'POST', '/v1/keys', { name: 'weak', scopes: ['heartbeats:read'] });
    assert.deepEqual([weak.status, weak.body.tool_level, weak.body.parent_id], [201, 'l0', null]);
    for (const change of [{ scopes: ['*'] }, { tool_level: 'l3_sandbox' }]) {
      const refused = await ask(old, 'PATCH', `/v1/keys/${weak.body.id}`, change);
      assert.deepEqual([refused.status, refused.code], [403, 'reauth_required'], JSON.stringify(change));
    }
    assert.equal((await ask(old, 'PATCH', `/v1/keys/${weak.body.id}`, { name: 'weaker' })).status, 200);
  });

  test('go on when the person signs out', async () => {
    const account = await createAccount(gateway);
    const headers = await signedIn(account, 1);
    const { body } = await ask(headers, 'POST', '/v1/keys', { name: 'mine', scopes: ['heartbeats'] });
    const [login] = (await http(gateway.url, '/v1/me/logins', { headers })).body.logins;
    assert.equal((await http(gateway.url, `/v1/me/logins/${login.id}`, { method: 'DELETE', headers })).status, 200);
    assert.equal((await http(gateway.url, '/v1/keys', { headers })).status, 401);
    assert.equal((await http(gateway.url, '/v1/heartbeats', { key: body.key })).status, 200);
  });

  test('let a machine in by a code, and by the token of an environment, that the person made in a browser', async () => {
    const account = await createAccount(gateway);
    const headers = await signedIn(account, 1);
    const { code } = (await ask(headers, 'POST', '/v1/hosts/invites', {})).body;
    const deviceId = randomUUID();
    const redeemed = await ask({}, 'POST', '/v1/hosts/invites/redeem', { code, device: { id: deviceId, name: 'Box' } });
    assert.equal(redeemed.status, 201, JSON.stringify(redeemed.body));
    const [made] = (await http(gateway.url, '/v1/keys', { headers })).body.keys;
    assert.deepEqual([made.name, made.parent_id], ['host Box', null]);
    assert.ok(made.scopes.includes('environments:serve'));
    const { project } = (await ask(headers, 'POST', '/v1/projects', { name: 'Shop' })).body;
    const wanted = { project_id: project.id, provider: 'byo', name: 'Workstation' };
    const { environment } = (await ask(headers, 'POST', '/v1/environments', wanted)).body;
    const { token } = (await ask(headers, 'POST', `/v1/environments/${environment.id}/enroll-token`, {})).body;
    const machine = { token, device_id: deviceId, daemon_version: '0.1.0', os: 'linux', arch: 'x64' };
    const enrolled = await ask({}, 'POST', '/v1/environments/enroll', machine);
    assert.deepEqual([enrolled.status, enrolled.body.environment_id], [200, environment.id]);
  });
});
