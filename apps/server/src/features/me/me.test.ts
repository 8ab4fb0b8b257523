import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { contract, type Route } from '@svc/contract';
import { bySystem } from '../../kernel/records/audit.ts';
import { withinOneMinute } from '../../kernel/testing.ts';
import { shared } from '../../testing.shared.ts';
import { createAccount, http, openTest, type TestAccount } from '../../testing.ts';
import { Authenticator } from '../auth/people/authenticator.testing.ts';
import { createMailCode, useMailCode } from '../auth/people/codes.ts';
import { PasswordHashing } from '../auth/people/hashing.ts';
import { createLink, lookAtLink } from '../auth/people/links.ts';
import { setPassword } from '../auth/people/passwords.ts';
import { setOperator } from '../accounts/index.ts';
import { signIn, type TestLogin } from './me.testing.ts';

const page = 'http://localhost:8787';
const password = 'three purple kettles';
const hour = 3_600_000;

const routes = Object.entries(contract.me as Record<string, Route>);
const pathOf = ({ path }: Route): string => path.replace('{id}', randomUUID());

/** A body that the route takes. */
const bodies: Readonly<Record<string, object>> = {
  update: { email: 'new@example.test' },
  reauth: { password },
  setPassword: { password },
  addPasskey: { passkey: {} },
  updatePasskey: { name: 'x' },
  confirmLink: { number: 10 },
};

describe('one’s own account', () => {
  const { gateway, second } = shared(() => openTest({ gateways: 2, settings: { SVC_AUTH_URL: `${page}/auth` } }));

  async function person(): Promise<{ account: TestAccount; login: TestLogin }> {
    const account = await createAccount(gateway);
    return { account, login: await signIn(gateway, account) };
  }
  const givePassword = ({ id: accountId }: TestAccount) =>
    setPassword({ ...gateway.kernel, hashing: new PasswordHashing() }, { accountId, password, by: bySystem });
  const stale = (account: TestAccount) => signIn(gateway, account, { provedAt: gateway.kernel.clock.now() - hour });
  async function addPasskey(
    login: TestLogin,
    key = new Authenticator(page),
  ): Promise<{ key: Authenticator; id: string }> {
    const options = (await login.ask('POST', '/v1/me/passkeys/options')).body;
    const answer = await login.ask('POST', '/v1/me/passkeys', { passkey: key.create(options), name: 'Phone' });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return { key, id: answer.body.id };
  }
  async function actsOf(accountId: string): Promise<string[]> {
    await gateway.kernel.audit.flush();
    const rows = await gateway.kernel.sql<{ action: string }[]>`
      select action from kernel.audit where account_id = ${accountId} order by at, id`;
    return rows.map(({ action }) => action);
  }
  async function noticesOf(accountId: string): Promise<string[]> {
    const rows = await gateway.kernel.sql<{ type: string }[]>`
      select type from notifications.notifications where account_id = ${accountId} order by created_at`;
    return rows.map(({ type }) => type);
  }

  test('a key is told whose it is, and meets 403 sign_in_required on every other route', async () => {
    const { key, keyId, id, email } = await createAccount(gateway, { scopes: ['usage:read'] });
    const { status, body } = await http(gateway.url, '/v1/me', { key });
    assert.equal(status, 200);
    assert.deepEqual(body.actor, { kind: 'key', id: keyId, scopes: ['usage:read'], tool_level: 'l3_sandbox' });
    assert.deepEqual([body.account.id, body.account.email, body.account.email_verified], [id, email, false]);
    assert.deepEqual(body.sign_in, { password: false, passkeys: 0, recovery_codes_left: 0 });
    const owner = await createAccount(gateway);
    for (const [verb, route] of routes) {
      if (verb === 'get') continue;
      const { method } = route;
      const sent = { method, key: owner.key, ...(bodies[verb] && { body: bodies[verb] }) };
      const answer = await http(gateway.url, pathOf(route), sent);
      assert.deepEqual([answer.status, answer.body.error.code], [403, 'sign_in_required'], verb);
    }
  });

  test('a signed-in person is told who they are, when they proved it, and how they sign in', async () => {
    const { account, login } = await person();
    await givePassword(account);
    await addPasskey(login);
    assert.equal((await login.ask('POST', '/v1/me/recovery-codes')).body.codes.length, 10);
    const { body } = await login.ask('GET', '/v1/me');
    assert.deepEqual([body.actor.kind, body.actor.id, body.operator, body.orgs], ['login', login.id, false, []]);
    assert.ok(Date.parse(body.actor.auth_time) > gateway.kernel.clock.now() - hour);
    assert.deepEqual(body.sign_in, { password: true, passkeys: 1, recovery_codes_left: 10 });
  });

  test('a cookie that another site sends along counts for nothing', async () => {
    const { login } = await person();
    const headers = { cookie: `__Host-svc_login=${login.token}`, 'sec-fetch-site': 'cross-site' };
    assert.equal((await http(gateway.url, '/v1/me', { headers })).status, 401);
  });

  test('without a proof within ten minutes what could lock out or let in is refused, and says how to give one', async () => {
    const account = await createAccount(gateway);
    const login = await stale(account);
    const fresh = routes.filter(([verb, { freshWithin }]) => freshWithin !== undefined || verb === 'update');
    assert.equal(fresh.length, 8);
    for (const [verb, route] of fresh) {
      const answer = await login.ask(route.method, pathOf(route), bodies[verb]);
      assert.deepEqual([answer.status, answer.body.error.code], [403, 'reauth_required'], verb);
      assert.deepEqual(answer.body.error.details, { max_age_s: 600, methods: ['passkey', 'password'] });
    }
    assert.equal(await login.said('PATCH', '/v1/me', { name: 'Ana' }), '200');
  });

  test('a password or a passkey is a fresh proof on every gateway; a wrong one is 403 and has its line in the audit log', async () => {
    const { account, login: first } = await person();
    await givePassword(account);
    const { key } = await addPasskey(first);
    for (const way of ['password', 'passkey']) {
      const login = await stale(account);
      assert.equal(await login.said('POST', '/v1/me/recovery-codes', undefined, second), '403 reauth_required');
      const options = (await login.ask('POST', '/v1/me/reauth/options')).body;
      const shown = way === 'password' ? { password } : { passkey: key.get(options) };
      const { status, body } = await login.ask('POST', '/v1/me/reauth', shown);
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(Date.parse(body.auth_time) > gateway.kernel.clock.now() - hour);
      assert.equal(await login.said('POST', '/v1/me/recovery-codes', undefined, second), '200');
      // A challenge counts once.
      if (way === 'passkey') assert.equal(await login.said('POST', '/v1/me/reauth', shown), '403 reauth_failed');
    }
    const { login: other } = await person();
    const theirs = (await other.ask('POST', '/v1/me/reauth/options')).body;
    assert.equal(await other.said('POST', '/v1/me/reauth', { passkey: key.get(theirs) }), '403 reauth_failed');
    assert.equal(await first.said('POST', '/v1/me/reauth', { password: 'wrong' }), '403 reauth_failed');
    assert.equal(await first.said('POST', '/v1/me/reauth', { password, passkey: {} }), '400 bad_request');
    assert.equal(await first.said('POST', '/v1/me/reauth', { passkey: {} }), '403 reauth_failed');
    const acts = await actsOf(account.id);
    assert.equal(acts.filter((action) => action === 'auth.proveAgain').length, 2);
    assert.equal(acts.filter((action) => action === 'auth.proveFailed').length, 3);
  });

  test('after five wrong passwords the sixth try has to wait, the right one too', async () => {
    const { account, login } = await person();
    await givePassword(account);
    for (let i = 0; i < 5; i++)
      assert.equal(await login.said('POST', '/v1/me/reauth', { password: 'wrong' }), '403 reauth_failed');
    const { status, headers } = await login.ask('POST', '/v1/me/reauth', { password });
    assert.equal(status, 429);
    assert.ok(Number(headers.get('retry-after')) > 0);
  });

  test('name, language and zone change and go back with null; another address is unproved, and nobody gets one twice', async () => {
    const { account, login } = await person();
    const other = await createAccount(gateway);
    const { sql } = gateway.kernel;
    await sql`update accounts.accounts set email_verified_at = now() where id = ${account.id}`;
    const set = await login.ask('PATCH', '/v1/me', { name: 'Ana', locale: 'ro', tz: 'Europe/Bucharest' });
    const { name, locale, tz, email_verified } = set.body.account;
    assert.deepEqual([name, locale, tz, email_verified], ['Ana', 'ro', 'Europe/Bucharest', true]);
    const back = (await login.ask('PATCH', '/v1/me', { name: null, locale: null, tz: null })).body.account;
    assert.deepEqual([back.name, back.locale, back.tz], ['', undefined, undefined]);
    const mine = `${randomUUID()}@example.test`;
    const moved = (await login.ask('PATCH', '/v1/me', { email: mine })).body.account;
    assert.deepEqual([moved.email, moved.email_verified], [mine, false]);
    assert.equal(await login.said('PATCH', '/v1/me', { email: other.email.toUpperCase() }), '409 email_taken');
    for (const wrong of [{ email: 'a b@c' }, { tz: 'Mars/Olympus' }, { tz: '+02:00' }, { locale: 'de' }, {}])
      assert.equal(await login.said('PATCH', '/v1/me', wrong), '400 bad_request', JSON.stringify(wrong));
  });

  test('with another address the links and codes count no more that were mailed to the former one', async () => {
    const { account, login } = await person();
    const { kernel } = gateway;
    const { token } = await createLink(kernel, { purpose: 'recover', accountId: account.id, by: bySystem });
    const code = await createMailCode(kernel, { email: account.email, purpose: 'sign-in', accountId: account.id });
    assert.equal(await login.said('PATCH', '/v1/me', { email: `${randomUUID()}@example.test` }), '200');
    assert.equal(await lookAtLink(kernel, { purpose: 'recover', token }), undefined);
    assert.equal(await useMailCode(kernel, { ...code, email: account.email, purpose: 'sign-in' }), undefined);
  });

  test('twenty addresses a minute are tried by an account, whoever has them; its name changes all the same', async () => {
    const { login } = await person();
    const { email } = await createAccount(gateway);
    await withinOneMinute(async () => {
      let said = '';
      for (let i = 0; i < 21; i += 1) said = await login.said('PATCH', '/v1/me', { email });
      assert.equal(said, '429 rate_limit_exceeded');
      assert.equal(await login.said('PATCH', '/v1/me', { name: 'Ana' }), '200');
    });
  });

  test('of two who take one address at once one gets it', async () => {
    const [one, two] = [await person(), await person()];
    const email = `${randomUUID()}@example.test`;
    const said = await Promise.all([one, two].map(({ login }) => login.said('PATCH', '/v1/me', { email })));
    assert.deepEqual(said.sort(), ['200', '409 email_taken']);
  });

  test('a new password signs in, signs out other browsers, and is told of; a weak one is refused in words of the reader', async () => {
    const { account, login } = await person();
    const other = await signIn(gateway, account);
    assert.deepEqual((await login.ask('PUT', '/v1/me/password', { password })).body, { changed: true });
    assert.equal(await login.said('POST', '/v1/me/reauth', { password }), '200');
    assert.equal(await other.said('GET', '/v1/me'), '401 invalid_api_key');
    assert.deepEqual(await noticesOf(account.id), ['password.changed']);
    const weak = { short: 'abc', common: 'passwordpassword', own: account.email, long: 'x'.repeat(900) };
    for (const each of Object.values(weak)) {
      const { status, body } = await login.ask('PUT', '/v1/me/password', { password: each });
      assert.equal(status, 400);
      assert.match(body.error.details.fieldErrors.password[0], /^[A-Z].*\.$/);
    }
  });

  test('the last way in stays, also when two are taken away at once', async () => {
    const { account, login } = await person();
    assert.equal(await login.said('DELETE', '/v1/me/password'), '404 not_found');
    await givePassword(account);
    assert.equal(await login.said('DELETE', '/v1/me/password'), '409 last_way_in');
    const { id } = await addPasskey(login);
    const both = await Promise.all([
      login.said('DELETE', '/v1/me/password'),
      login.said('DELETE', `/v1/me/passkeys/${id}`),
    ]);
    assert.deepEqual(both.sort(), ['200', '409 last_way_in']);
  });

  test('a passkey is added, listed, renamed and removed; its person is told, and its answer counts once', async () => {
    const { account, login } = await person();
    await givePassword(account);
    const options = (await login.ask('POST', '/v1/me/passkeys/options')).body;
    const passkey = new Authenticator(page).create(options);
    const added = await login.ask('POST', '/v1/me/passkeys', { passkey });
    assert.deepEqual([added.status, added.body.name, added.body.backed_up], [201, 'Passkey', false]);
    assert.equal(await login.said('POST', '/v1/me/passkeys', { passkey }), '400 bad_request');
    assert.equal(await login.said('POST', '/v1/me/passkeys', { passkey: { response: 1 } }), '400 bad_request');
    const path = `/v1/me/passkeys/${added.body.id}`;
    assert.equal((await login.ask('PATCH', path, { name: 'Laptop' })).body.name, 'Laptop');
    const { passkeys } = (await login.ask('GET', '/v1/me/passkeys')).body;
    assert.deepEqual(
      passkeys.map(({ id, name }: { id: string; name: string }) => [id, name]),
      [[added.body.id, 'Laptop']],
    );
    assert.deepEqual(await noticesOf(account.id), ['passkey.added']);
    assert.deepEqual((await login.ask('DELETE', path)).body, { deleted: true, id: added.body.id });
    assert.equal(await login.said('DELETE', path), '404 not_found');
  });

  test('passkeys, browsers and links of another account are 404', async () => {
    const [mine, theirs] = [await person(), await person()];
    const { id } = await addPasskey(theirs.login);
    const link = (await theirs.login.ask('POST', '/v1/me/links')).body.id;
    for (const [method, path, body] of [
      ['PATCH', `/v1/me/passkeys/${id}`, { name: 'mine' }],
      ['DELETE', `/v1/me/passkeys/${id}`],
      ['DELETE', `/v1/me/logins/${theirs.login.id}`],
      ['GET', `/v1/me/links/${link}`],
      ['POST', `/v1/me/links/${link}/confirm`, { number: 11 }],
    ] as const)
      assert.equal(await mine.login.said(method, path, body), '404 not_found', `${method} ${path}`);
    assert.equal(await theirs.login.said('GET', '/v1/me'), '200');
  });

  test('the 21st passkey is refused, and the 51st browser ends the one that was not used for longest', async () => {
    const { account, login } = await person();
    for (let i = 0; i < 20; i++) await addPasskey(login);
    assert.equal(await login.said('POST', '/v1/me/passkeys/options'), '429 quota_exceeded');
    await gateway.kernel.sql`
      update auth.logins set last_seen_at = last_seen_at - interval '1 hour' where id = ${login.id}`;
    let last = login;
    for (let i = 0; i < 50; i++) last = await signIn(gateway, account);
    assert.equal((await last.ask('GET', '/v1/me/logins')).body.logins.length, 50);
    assert.equal(await login.said('GET', '/v1/me'), '401 invalid_api_key');
  });

  test('recovery codes are shown once; new ones take the place of the old', async () => {
    const { login } = await person();
    const ask = (id: string) =>
      http(gateway.url, '/v1/me/recovery-codes', {
        method: 'POST',
        headers: { cookie: `__Host-svc_login=${login.token}`, 'sec-fetch-site': 'same-origin', 'idempotency-key': id },
      });
    const [first, repeat, next] = [await ask('a'), await ask('a'), await ask('b')];
    assert.deepEqual(first.body, repeat.body);
    assert.notDeepEqual(first.body, next.body);
    assert.equal((await login.ask('GET', '/v1/me')).body.sign_in.recovery_codes_left, 10);
  });

  test('a browser that is signed out is refused on another gateway at once, and its event stream ends', async () => {
    const { account, login } = await person();
    const [lost, also] = [await signIn(gateway, account), await signIn(gateway, account)];
    const streamOf = async ({ token }: TestLogin) => {
      const headers = { cookie: `__Host-svc_login=${token}`, 'sec-fetch-site': 'same-origin' };
      const { body, status } = await fetch(`${second.url}/v1/events/stream`, {
        headers: { ...headers, accept: 'text/event-stream' },
      });
      assert.equal(status, 200);
      return { over: (body as ReadableStream).pipeTo(new WritableStream()).catch(() => {}) };
    };
    const streams = [await streamOf(lost), await streamOf(also)];
    assert.equal(await lost.said('GET', '/v1/me', undefined, second), '200');
    const { logins } = (await login.ask('GET', '/v1/me/logins')).body;
    assert.deepEqual(
      logins.filter(({ current }: { current: boolean }) => current).map(({ id }: { id: string }) => id),
      [login.id],
    );
    assert.equal(logins.length, 3);
    assert.equal(await login.said('DELETE', `/v1/me/logins/${lost.id}`), '200');
    assert.equal(await lost.said('GET', '/v1/me', undefined, second), '401 invalid_api_key');
    await streams[0]?.over;
    assert.deepEqual((await login.ask('DELETE', '/v1/me/logins')).body, { ended: 1 });
    assert.equal(await also.said('GET', '/v1/me', undefined, second), '401 invalid_api_key');
    await streams[1]?.over;
    assert.equal(await login.said('GET', '/v1/me', undefined, second), '200');
    assert.equal(await login.said('DELETE', `/v1/me/logins/${lost.id}`), '404 not_found');
  });

  test('who deletes their account is out everywhere in the same transaction, with key, browsers and links', async () => {
    const { account, login } = await person();
    const other = await signIn(gateway, account);
    await login.ask('POST', '/v1/me/links');
    assert.deepEqual((await login.ask('DELETE', '/v1/me')).body, { deleted: true, id: account.id });
    for (const each of [login, other])
      assert.equal(await each.said('GET', '/v1/me', undefined, second), '401 invalid_api_key');
    assert.equal((await http(second.url, '/v1/me', { key: account.key })).body.error.code, 'account_suspended');
    const [row] = await gateway.kernel.sql<{ xmins: number; open: number }[]>`
      select count(distinct t.x)::int as xmins, count(*) filter (where t.open)::int as open from (
        select xmin::text as x, false as open from accounts.deletions where account_id = ${account.id}
        union all select xmin::text, revoked_at is null from auth.logins where account_id = ${account.id}
        union all select xmin::text, ended_at is null from auth.links where account_id = ${account.id}
        union all select xmin::text, suspended_at is null from accounts.accounts where id = ${account.id}) t`;
    assert.deepEqual(row, { xmins: 1, open: 0 });
  });

  test('the last operator cannot delete their account, nor can the last owner of an organisation with members', async () => {
    const { sql } = gateway.kernel;
    const { account, login } = await person();
    await setOperator(sql, account.id, true);
    const refused = await login.ask('DELETE', '/v1/me');
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'last_operator']);
    assert.match(refused.body.error.message, /make one first/);
    const next = await person();
    await setOperator(sql, next.account.id, true);
    const both = await Promise.all([login, next.login].map((each) => each.said('DELETE', '/v1/me')));
    assert.deepEqual(both.sort(), ['200', '409 last_operator']);
    await sql`update accounts.accounts set operator = false`;
    const alone = await person();
    const member = await createAccount(gateway);
    const [org] = await sql<{ id: string }[]>`insert into orgs.orgs (name) values ('Workshop') returning id`;
    await sql`
      insert into orgs.members (org_id, account_id, role)
      values (${org?.id as string}, ${alone.account.id}, 'owner'), (${org?.id as string}, ${member.id}, 'member')`;
    assert.deepEqual((await alone.login.ask('GET', '/v1/me')).body.orgs, [
      { id: org?.id, name: 'Workshop', role: 'owner' },
    ]);
    assert.equal(await alone.login.said('DELETE', '/v1/me'), '409 last_owner');
    assert.equal(await alone.login.said('GET', '/v1/me'), '200');
  });

  test('a browser of a suspended account is refused', async () => {
    const { account, login } = await person();
    assert.equal(await login.said('GET', '/v1/me'), '200');
    await gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${account.id}`;
    await gateway.kernel.gateways.announce('credentials.changed', { accountId: account.id });
    assert.equal(await login.said('GET', '/v1/me', undefined, second), '403 account_suspended');
  });
});
