import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newEmail } from '@svc/contract';
import { createAccount, openTest } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { findAccountByEmail, setOperator } from './accounts.sql.ts';
import { signIn } from '../me/me.testing.ts';

/** A Cyrillic letter in the middle, and a space without width. */
const lookalikes = ['m\u0430ria@example.test', 'ma\u200bria@example.test'];

test('an address that could be taken for another one is given to nobody, on any way in', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const { account } = t;
  const { ask } = await signIn(t.gateway, account);
  for (const email of lookalikes) {
    const message = /letters of one script that are all seen/;
    await assert.rejects(svc('accounts', 'create', '--email', email), { message });
    await assert.rejects(svc('accounts', 'set', '--email', account.email, '--new-email', email), { message });
    const changed = await ask('PATCH', '/v1/me', { email });
    assert.equal(changed.status, 400, JSON.stringify(changed.body));
  }
  assert.equal((await svc('accounts', 'create', '--email', 'ana@пример.test')).email, 'ana@xn--e1afmkfd.test');
});

test('an account that has such an address is found and signed in as before, and suspended, changed and deleted by its id', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const { sql } = t.gateway.kernel;
  await sql`update accounts.accounts set email = ${lookalikes[0] ?? ''} where id = ${t.account.id}`;
  const shown = await svc('accounts', 'show', '--email', lookalikes[0] ?? '');
  assert.equal(shown.account_id, t.account.id);
  await svc('accounts', 'suspend', '--id', t.account.id.toUpperCase());
  const [row] = await sql<
    { is: boolean }[]
  >`select suspended_at is not null as is from accounts.accounts where id = ${t.account.id}`;
  assert.equal(row?.is, true);
  await svc('accounts', 'resume', '--id', t.account.id);
  await assert.rejects(svc('accounts', 'suspend'), { message: /--email or --id/ });
  await assert.rejects(svc('accounts', 'suspend', '--id', 'none'), { message: /no id of an account/ });
  const both = ['--id', t.account.id, '--email', t.account.email];
  for (const verb of ['suspend', 'set', 'delete'])
    await assert.rejects(svc('accounts', verb, ...both), { message: /--email or --id/ });
  const changed = await svc('accounts', 'set', '--id', t.account.id, '--subscription', 'inactive');
  assert.deepEqual([changed.account_id, changed.subscription], [t.account.id, 'inactive']);
  const deleted = await svc('accounts', 'delete', '--id', t.account.id, '--yes', '--force');
  assert.equal(deleted.account_id, t.account.id);
});

test('commands find an account by its address as it is typed, though it is kept in another form', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const { account_id: id } = await svc('accounts', 'create', '--email', 'ana@пример.test');
  assert.equal((await svc('accounts', 'show', '--email', 'ana@пример.test')).account_id, id);
  assert.equal((await findAccountByEmail(t.gateway.kernel.sql, 'Ana@ПРИМЕР.test'))?.id, id);
});

test('a mailbox whose account was kept in another form gets no second account, on any way in', async () => {
  await using t = await openTest();
  const svc = svcOf(t.gateway);
  const { sql } = t.gateway.kernel;
  const [old, operator] = [await createAccount(t.gateway), t.account];
  await setOperator(sql, operator.id, true);
  const { ask, said } = await signIn(t.gateway, operator);
  for (const kept of ['ana@пример.test', 's\u0326tefan@example.test']) {
    await sql`update accounts.accounts set email = ${kept} where id = ${old.id}`;
    for (const email of [kept, newEmail(kept) ?? '']) {
      await assert.rejects(svc('accounts', 'create', '--email', email), { message: /exists/ });
      const renamed = svc('accounts', 'set', '--email', operator.email, '--new-email', email);
      await assert.rejects(renamed, { message: /another account has/ });
      assert.equal(await said('PATCH', '/v1/me', { email }), '409 email_taken');
      assert.equal((await ask('POST', '/v1/accounts', { email, name: 'Ana' })).body.error?.code, 'email_taken');
    }
  }
  // Its own person takes the new form.
  const own = await signIn(t.gateway, old);
  assert.equal(await own.said('PATCH', '/v1/me', { email: '\u0219tefan@example.test' }), '200');
});
