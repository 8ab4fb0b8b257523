import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from './config.ts';
import { signIn } from './doctor.sign-in.ts';
import { createAccount, openTest } from './testing.ts';

test('doctor says what keeps people from signing in, and how to mend it', async () => {
  await using t = await openTest();
  const { sql } = t.gateway.kernel;
  const faultsOf = async (settings: Record<string, string>) =>
    (await signIn(loadConfig({}, settings), sql))
      .filter(({ ok }) => !ok)
      .map(({ name, fix }) => [name, fix !== undefined]);
  assert.deepEqual(await faultsOf({}), []);
  assert.deepEqual(await faultsOf({ SVC_BASE_URL: 'http://svc.lan:8787' }), [['sign-in', true]]);
  const named = { SVC_BASE_URL: 'https://svc.example.com' };
  assert.deepEqual(await faultsOf(named), [['proxy', true]]);
  assert.deepEqual(await faultsOf({ ...named, SVC_TRUSTED_PROXIES: '127.0.0.1' }), []);
  const { id } = await createAccount(t.gateway);
  await sql`
    insert into auth.passkeys
      (account_id, credential_id, public_key, counter, backed_up, transports, name, rp_id, created_at)
    values (${id}, 'one', 'key', 0, false, '{}', 'Passkey', 'svc.example.com', now())`;
  assert.deepEqual(await faultsOf({ ...named, SVC_TRUSTED_PROXIES: '127.0.0.1' }), []);
  assert.deepEqual(await faultsOf({ SVC_BASE_URL: 'https://other.example.com', SVC_TRUSTED_PROXIES: '127.0.0.1' }), [
    ['passkeys', true],
  ]);
});
