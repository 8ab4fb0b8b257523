import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { contract, type Route } from '@svc/contract';
import { svcOf } from '../../testing.commands.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { issueKey } from '../keys/index.ts';
import { signIn } from '../me/me.testing.ts';
import { setOperator } from './accounts.sql.ts';

const hour = 3_600_000;
const routes = Object.entries(contract.accounts as Record<string, Route>);
const bodies: Readonly<Record<string, object>> = {
  create: { email: 'somebody@example.test' },
  update: { suspended: true },
};

describe('accounts, for operators', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2 }));

  /** Somebody who runs the installation; of each test its own. */
  async function operator() {
    const account = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, account.id, true);
    const login = await signIn(gateway, account);
    return { ...login, account };
  }
  const addressOf = () => `${randomUUID()}@example.test`;
  const svc = (...line: string[]) => svcOf(gateway)(...line);
  /** The title of the page that a link opens. */
  async function titleOf(url: string): Promise<string | undefined> {
    const { pathname, hash } = new URL(url);
    const answer = await fetch(gateway.url + pathname, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token: hash.slice(1) }),
    });
    return /<h1>(.*?)<\/h1>/.exec(await answer.text())?.[1];
  }

  test('to everybody else no route is there, with a key that may do everything too', async () => {
    const [stranger, other] = [await createAccount(gateway), await createAccount(gateway)];
    const login = await signIn(gateway, stranger);
    for (const [verb, { method, path }] of routes) {
      const body = bodies[verb];
      const at = path.replace('{id}', other.id);
      assert.equal(await login.said(method, at, body), '404 not_found', verb);
      const answer = await http(gateway.url, at, { method, key: stranger.key, ...(body && { body }) });
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], verb);
    }
    assert.equal((await http(gateway.url, '/v1/me', { key: other.key })).status, 200);
  });

  test('the key of an operator may with the scope, and lists accounts in pages, newest first', async () => {
    const { account } = await operator();
    const people = [await createAccount(gateway), await createAccount(gateway)];
    const keyOf = async (scope: string) =>
      (await issueKey(gateway.kernel, gateway.kernel.sql, { accountId: account.id, name: scope, scopes: [scope] }))
        .text;
    const [reads, unrelated] = [await keyOf('accounts:read'), await keyOf('usage')];
    assert.equal((await http(gateway.url, '/v1/accounts', { key: unrelated })).status, 403);
    const first = (await http(gateway.url, '/v1/accounts?limit=1', { key: reads })).body;
    assert.equal(first.accounts[0].id, people[1]?.id);
    const next = (await http(gateway.url, `/v1/accounts?limit=1&cursor=${first.next_cursor}`, { key: reads })).body;
    assert.equal(next.accounts[0].id, people[0]?.id);
    const path = `/v1/accounts/${people[0]?.id}`;
    const one = (await http(gateway.url, path, { key: reads })).body;
    const { id, email, operator: runs, suspended, subscription, last_seen_at: seen } = one;
    assert.deepEqual(
      [id, email, runs, suspended, subscription, seen],
      [people[0]?.id, people[0]?.email, false, false, 'active', undefined],
    );
    await signIn(gateway, people[0] as TestAccount);
    assert.ok((await http(gateway.url, path, { key: reads })).body.last_seen_at);
    assert.equal((await http(gateway.url, `${path}/link`, { method: 'POST', key: reads })).status, 403);
  });

  test('acts need a proof within ten minutes; looking does not', async () => {
    const { account } = await operator();
    const login = await signIn(gateway, account, { provedAt: gateway.kernel.clock.now() - hour });
    const other = await createAccount(gateway);
    for (const [verb, { method, path }] of routes) {
      const said = await login.said(method, path.replace('{id}', other.id), bodies[verb]);
      assert.equal(said, method === 'GET' ? '200' : '403 reauth_required', verb);
    }
  });

  test('an invited person opens their link; an address that somebody has is 409', async () => {
    const { ask, said } = await operator();
    const email = addressOf();
    const { status, body } = await ask('POST', '/v1/accounts', { email, name: 'Ioana' });
    assert.equal(status, 201);
    assert.deepEqual([body.account.email, body.account.name, body.account.operator], [email, 'Ioana', false]);
    assert.equal(await titleOf(body.url), 'Welcome');
    assert.equal(await said('POST', '/v1/accounts', { email: email.toUpperCase() }), '409 email_taken');
    assert.equal(await said('POST', '/v1/accounts', { email: 'nobody' }), '400 bad_request');
    const [act] = await gateway.kernel.sql<{ action: string; who: string }[]>`
      select action, who from kernel.audit where account_id = ${body.account.id} order by at, id limit 1`;
    assert.deepEqual({ ...act }, { action: 'accounts.create', who: 'login' });
  });

  test('a person has the tool level that an operator gives, and is told who does when it is not enough', async () => {
    const { ask, said } = await operator();
    const { body } = await ask('POST', '/v1/accounts', { email: addressOf(), tool_level: 'l3_sandbox' });
    assert.equal(body.account.tool_level, 'l3_sandbox');
    const account = await createAccount(gateway);
    const at = `/v1/accounts/${account.id}`;
    const person = await signIn(gateway, account);
    assert.equal((await ask('PATCH', at, { tool_level: 'l0' })).body.tool_level, 'l0');
    const refused = await person.ask('GET', '/v1/sandboxes');
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.match(refused.body.error.message, /the key has l0.*svc accounts set --tool-level l3_sandbox/);
    await ask('PATCH', at, { tool_level: 'l3_sandbox' });
    assert.equal((await person.ask('GET', '/v1/sandboxes')).status, 200);
    assert.equal((await ask('PATCH', at, { tool_level: null })).body.tool_level, 'l0');
    await ask('PATCH', at, { tool_level: 'l3_sandbox' });
    assert.equal(await said('PATCH', at, { tool_level: 'l4' }), '400 bad_request');
  });

  test('a link is to set up for who has no way in, and to recover for who has one', async () => {
    const { ask, said } = await operator();
    const { account } = (await ask('POST', '/v1/accounts', { email: addressOf() })).body;
    const path = `/v1/accounts/${account.id}/link`;
    assert.equal(await titleOf((await ask('POST', path)).body.url), 'Welcome');
    const login = await signIn(gateway, account);
    assert.equal(await login.said('PUT', '/v1/me/password', { password: 'three purple kettles' }), '200');
    assert.equal(await titleOf((await ask('POST', path)).body.url), 'Choose how you sign in');
    await setOperator(gateway.kernel.sql, account.id, true);
    assert.equal(await login.said('POST', `/v1/accounts/${randomUUID()}/link`), '404 not_found');
    const bare = await operator();
    assert.match((await ask('POST', `/v1/accounts/${bare.account.id}/link`)).body.url, /\/setup#/);
    assert.equal(await said('POST', `/v1/accounts/${randomUUID()}/link`), '404 not_found');
  });

  test('a suspended person is refused on every gateway at once, and goes on when they may', async () => {
    const { ask } = await operator();
    const person = await createAccount(gateway);
    const login = await signIn(gateway, person);
    const path = `/v1/accounts/${person.id}`;
    assert.equal(await login.said('GET', '/v1/me', undefined, second), '200');
    assert.equal((await ask('PATCH', path, { suspended: true })).body.suspended, true);
    assert.equal(await login.said('GET', '/v1/me', undefined, second), '403 account_suspended');
    assert.equal((await ask('PATCH', path, { suspended: false })).body.suspended, false);
    assert.equal(await login.said('GET', '/v1/me', undefined, second), '200');
  });

  test('the last operator stays one, of two who take it from each other one stays; nobody suspends themselves', async () => {
    await gateway.kernel.sql`update accounts.accounts set operator = false`;
    const [one, two] = [await operator(), await operator()];
    const pathOf = ({ account }: typeof one) => `/v1/accounts/${account.id}`;
    assert.equal(await one.said('PATCH', pathOf(one), { suspended: true }), '403 forbidden');
    const both = await Promise.all([
      one.said('PATCH', pathOf(two), { operator: false }),
      two.said('PATCH', pathOf(one), { operator: false }),
    ]);
    assert.equal(both.filter((said) => said === '200').length, 1, both.join());
    const last = (await one.said('GET', '/v1/accounts')) === '200' ? one : two;
    assert.equal(await last.said('PATCH', pathOf(last), { operator: false }), '409 last_operator');
    await assert.rejects(svc('accounts', 'set', '--email', last.account.email, '--operator', 'off'), /make one first/);
    await svc('accounts', 'suspend', '--email', last.account.email);
    await svc('accounts', 'resume', '--email', last.account.email);
    // A suspended operator is none who could go on.
    const other = last === one ? two : one;
    await svc('accounts', 'set', '--email', other.account.email, '--operator', 'on');
    await svc('accounts', 'suspend', '--email', other.account.email);
    assert.equal(await last.said('PATCH', pathOf(last), { operator: false }), '409 last_operator');
    await assert.rejects(svc('accounts', 'delete', '--email', last.account.email, '--yes'), /or add --force/);
    await svc('accounts', 'resume', '--email', other.account.email);
    assert.equal(await last.said('PATCH', pathOf(last), { operator: false }), '200');
    assert.equal(await last.said('GET', '/v1/accounts'), '404 not_found');
  });

  test('an operator signs a person out of every browser; their keys go on', async () => {
    const { ask } = await operator();
    const person = await createAccount(gateway);
    const logins = [await signIn(gateway, person), await signIn(gateway, person)];
    for (const login of logins) assert.equal(await login.said('GET', '/v1/me', undefined, second), '200');
    assert.deepEqual((await ask('DELETE', `/v1/accounts/${person.id}/logins`)).body, { ended: 2 });
    for (const login of logins)
      assert.equal(await login.said('GET', '/v1/me', undefined, second), '401 invalid_api_key');
    assert.equal((await http(second.url, '/v1/me', { key: person.key })).status, 200);
  });

  test('an account that is being deleted is not there any more', async () => {
    const { ask, said } = await operator();
    const person = await createAccount(gateway);
    const login = await signIn(gateway, person);
    assert.equal(await login.said('DELETE', '/v1/me'), '200');
    assert.equal(await said('GET', `/v1/accounts/${person.id}`), '404 not_found');
    assert.equal(await said('PATCH', `/v1/accounts/${person.id}`, { suspended: false }), '404 not_found');
    const { accounts } = (await ask('GET', '/v1/accounts')).body;
    assert.equal(
      accounts.some(({ id }: { id: string }) => id === person.id),
      false,
    );
  });
});
