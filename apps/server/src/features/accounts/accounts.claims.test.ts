import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createAccount, http, openTest } from '../../testing.ts';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { environmentOf } from '../environments/environments.testing.ts';
import { signIn } from '../me/me.testing.ts';
import { hasUnprovedAddress, proveAddress } from './accounts.claims.sql.ts';
import { setOperator } from './accounts.sql.ts';

describe('an address that somebody gave to their own account', () => {
  const { gateway } = shared(() => openTest());
  const svc = svcOf(gateway);
  const sqlOf = () => gateway.kernel.sql;

  /** Somebody who gave themselves the address of another person. */
  async function squatted() {
    const account = await createAccount(gateway);
    const login = await signIn(gateway, account);
    const address = `${randomUUID()}@example.test`;
    assert.equal(await login.said('PATCH', '/v1/me', { email: address }), '200');
    const emailOf = async () => (await login.ask('GET', '/v1/me')).body.account.email as string;
    return { account, login, address, emailOf };
  }
  const actsOf = async (accountId: string, action: string) =>
    sqlOf()<{ details: Record<string, unknown> }[]>`
      select details from kernel.audit where account_id = ${accountId} and action = ${action} order by id`;
  const isTaken = { message: /another account has|exists/ };

  test('is taken from it, which keeps its own and hears of it, when an operator gives it to another account', async () => {
    const { account, address, emailOf } = await squatted();
    const { account_id: id } = await svc('accounts', 'create', '--email', address.toUpperCase());
    assert.equal(await emailOf(), account.email);
    const { notifications } = (await http(gateway.url, '/v1/notifications', { key: account.key })).body;
    const told = notifications.find(({ type }: { type: string }) => type === 'login.address_taken');
    assert.match(told.title, new RegExp(address));
    assert.equal((await actsOf(account.id, 'accounts.address_taken')).length, 1);
    assert.equal((await actsOf(id, 'accounts.create'))[0]?.details['taken_from'], account.id);
    // What an operator gave is reserved.
    await assert.rejects(svc('accounts', 'create', '--email', address), isTaken);
  });

  test('is theirs once a code that was mailed to it was used, not one that was mailed to another', async () => {
    const { account, address, login } = await squatted();
    const code = (to: string) => proveAddress(sqlOf(), account.id, to);
    await code(account.email);
    assert.equal(await hasUnprovedAddress(sqlOf(), account.id), true);
    await code(address.toUpperCase());
    assert.equal(await hasUnprovedAddress(sqlOf(), account.id), false);
    await assert.rejects(svc('accounts', 'create', '--email', address), isTaken);
    // Another one is to be proved anew.
    await login.said('PATCH', '/v1/me', { email: `${randomUUID()}@example.test` });
    assert.equal(await hasUnprovedAddress(sqlOf(), account.id), true);
  });

  test('gives way on every way in by which an operator gives addresses', async () => {
    const operator = await createAccount(gateway);
    await setOperator(sqlOf(), operator.id, true);
    const { said } = await signIn(gateway, operator);
    const first = await squatted();
    assert.equal(await said('POST', '/v1/accounts', { email: first.address, name: 'Ana' }), '201');
    const second = await squatted();
    await svc('accounts', 'set', '--id', operator.id, '--new-email', second.address);
    for (const { account, emailOf } of [first, second]) assert.equal(await emailOf(), account.email);
    const third = await squatted();
    await svc('accounts', 'invite', '--email', third.address);
    assert.equal(await third.emailOf(), third.account.email);
  });

  test('leaves an account whose former address is given away meanwhile one of nobody', async () => {
    const { account, address, emailOf } = await squatted();
    await svc('accounts', 'create', '--email', account.email);
    await svc('accounts', 'create', '--email', address);
    assert.equal(await emailOf(), `${account.id}@localhost`);
  });

  test('stays when it is the one that an operator gave, or that one chosen again, or vouched for', async () => {
    const { account, address, login } = await squatted();
    await assert.rejects(svc('accounts', 'create', '--email', (await createAccount(gateway)).email), isTaken);
    await svc('accounts', 'set', '--id', account.id, '--new-email', address);
    await assert.rejects(svc('accounts', 'create', '--email', address), isTaken);
    await login.said('PATCH', '/v1/me', { email: `${randomUUID()}@example.test` });
    await login.said('PATCH', '/v1/me', { email: address });
    await assert.rejects(svc('accounts', 'create', '--email', address), isTaken);
  });

  test('gives no rights that others mean for the person of the address', async () => {
    const { account, address } = await squatted();
    const owner = await createAccount(gateway);
    const id = await environmentOf(gateway, owner);
    const invite = async () => {
      const body = { email: address, role: 'viewer' };
      return (await http(gateway.url, `/v1/environments/${id}/members`, { method: 'POST', key: owner.key, body }))
        .status;
    };
    assert.equal(await invite(), 404);
    const named = ['--email', address];
    await assert.rejects(svc('accounts', 'set', ...named, '--operator', 'on'), { message: /nobody proved it/ });
    await assert.rejects(svc('wallet', 'credit', ...named, '--micro-eur', '5'), { message: /nobody proved it/ });
    for (const words of [
      ['orgs', 'create', '--name', 'o', '--owner', address],
      ['keys', 'create', ...named],
      ['accounts', 'link', ...named],
      ['accounts', 'quota', ...named, '--name', 'keys', '--limit', '5'],
      ['rules', 'add', 'allow', 'example.com', ...named],
    ])
      await assert.rejects(svc(...words), { message: /nobody proved it/ }, words.join(' '));
    await svc('accounts', 'set', '--id', account.id, '--new-email', address);
    assert.equal(await invite(), 201);
  });
});
