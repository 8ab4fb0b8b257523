import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest } from '../../testing.ts';
import { signIn } from '../me/me.testing.ts';
import { environmentOf } from './environments.testing.ts';

describe('a person whose proof is 20 days old', () => {
  const { gateway } = shared(() => openTest());

  test('lets nobody into an environment, not by a role, a token, a key of SSH or a port; with a fresh proof they do', async () => {
    const account = await createAccount(gateway);
    const friend = await createAccount(gateway);
    const id = await environmentOf(gateway, account);
    const path = `/v1/environments/${id}`;
    const old = await signIn(gateway, account, { provedAt: Date.now() - 20 * 86_400_000 });
    const fresh = await signIn(gateway, account);
    const publicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPq1BaCEkRkW7rQ4y0VxM2v9xLrkG0m2Tn8bRzXn1h2k';
    const acts: [string, string, object][] = [
      ['POST', `${path}/members`, { email: friend.email, role: 'owner' }],
      ['PATCH', `${path}/members/${friend.id}`, { role: 'developer' }],
      ['POST', `${path}/enroll-token`, {}],
      ['PUT', `${path}/members/me/ssh-key`, { public_key: publicKey }],
      ['PUT', `${path}/ports/3000`, { visibility: 'public' }],
      ['PUT', `${path}/ports/3000`, { visibility: 'authenticated' }],
    ];
    for (const [method, where, body] of acts) {
      assert.equal(await old.said(method, where, body), '403 reauth_required', where);
      assert.match(await fresh.said(method, where, body), /^20[01]$/, where);
    }
    assert.equal(await old.said('PUT', `${path}/ports/3001`, { visibility: 'owner' }), '200', 'nobody else is let in');
    assert.equal(await old.said('DELETE', `${path}/members/${friend.id}`), '200', 'who takes away needs none');
  });

  test('approves no command on a machine', async () => {
    const account = await createAccount(gateway);
    const old = await signIn(gateway, account, { provedAt: Date.now() - 20 * 86_400_000 });
    const approval = `/v1/schedules/${randomUUID()}/approve-command`;
    assert.equal(await old.said('POST', approval, { command_hash: 'a'.repeat(64) }), '403 reauth_required');
  });
});
