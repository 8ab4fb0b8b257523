import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { bySystem } from '../../kernel/records/audit.ts';
import { headersOf, signIn } from '../me/me.testing.ts';
import { http } from '../../testing.ts';
import { invited, openPlatform, password, person, type Platform, PlayedBrowser } from './auth.testing.ts';
import { credentialsChanged } from '../../kernel/mount/access.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { createLink } from './people/links.ts';
import { Records } from './provider/adapter.ts';
import { endOtherSessions } from './provider/sessions.ts';

describe('what is on its way when an account is closed to others', () => {
  let t: Platform;
  let base: string;
  before(async () => {
    t = await openPlatform();
    base = `http://localhost:${t.port}`;
  });
  after(() => t[Symbol.asyncDispose]());
  const isIn = (browser: PlayedBrowser): boolean => browser.cookies.has('__Host-svc_login');

  test('other links of the account count no more once one of them was used, nor after a recovery by code', async () => {
    const account = await invited(t);
    const { id: accountId, email } = account;
    const make = (purpose: 'invite' | 'recover') => createLink(t.gateway.kernel, { purpose, accountId, by: bySystem });
    const others = [await make('invite'), await make('recover')];
    const browser = new PlayedBrowser();
    const shown = await browser.send(`${base}/auth/setup`, { carry: account.token, email, password });
    assert.equal(shown.status, 200);
    const use = async ({ token }: { token: string }) =>
      (await new PlayedBrowser().send(`${base}/auth/link`, { carry: token, password: 'somebody else came in' })).status;
    for (const other of others) assert.equal(await use(other), 400);
    const code = /[A-Z2-9]{5}-[A-Z2-9]{5}/.exec(shown.body)?.[0] ?? '';
    const late = await make('recover');
    const back = await browser.send(`${base}/auth/recover`, { email, code, password: 'the owner came back' });
    assert.equal(back.status, 200);
    assert.match(back.body, /You have 9 recovery codes left/);
    assert.equal(await use(late), 400);
  });

  test('who used a link and lost the answer is led to sign in; who has none is not told of any', async () => {
    const account = await invited(t);
    const set = (browser: PlayedBrowser) =>
      browser.send(`${base}/auth/setup`, { carry: account.token, email: account.email, password });
    const statuses = (await Promise.all([set(new PlayedBrowser()), set(new PlayedBrowser())])).map((one) => one.status);
    assert.deepEqual(new Set(statuses), new Set([200, 400]), 'of two at once one sets it up');
    const { message, problems } = wordsOf('en');
    for (const again of [
      await set(new PlayedBrowser()),
      await new PlayedBrowser().send(`${base}/auth/setup`, { token: account.token }),
    ]) {
      assert.equal(again.status, 400);
      assert.ok(again.body.includes(message.usedTitle) && again.body.includes('/login/start"'), again.body);
    }
    const wrong = await new PlayedBrowser().send(`${base}/auth/setup`, { token: account.token.toUpperCase() });
    assert.ok(wrong.status === 400 && wrong.body.includes(problems.overToken), wrong.body);
  });

  test('who comes back in takes away what let others in, unless they say otherwise', async () => {
    const { id: accountId, email } = await person(t, `${base}/auth`);
    const { sql } = t.gateway.kernel;
    const ways = async () => {
      const [row] = await sql<{ passkeys: number }[]>`
        select count(*)::int as passkeys from auth.passkeys where account_id = ${accountId}`;
      return row?.passkeys;
    };
    await sql`
      insert into auth.passkeys (account_id, credential_id, public_key, counter, backed_up, transports, name, created_at)
      values (${accountId}, 'of somebody else', 'key', 0, false, '{}', 'Passkey', now())`;
    const recover = async (fields: Record<string, string>) => {
      const given = { purpose: 'recover', accountId, by: bySystem } as const;
      const { token } = await createLink(t.gateway.kernel, given);
      return new PlayedBrowser().send(`${base}/auth/link`, { carry: token, password, ...fields });
    };
    const page = await new PlayedBrowser().send(`${base}/auth/link`, {
      token: (await createLink(t.gateway.kernel, { purpose: 'recover', accountId, by: bySystem })).token,
    });
    assert.match(page.body, /name="only" value="this" checked/);
    assert.equal((await recover({ only: 'this', password: 'short' })).status, 400);
    assert.equal(await ways(), 1, 'what is refused takes nothing away');
    assert.equal((await recover({})).status, 200);
    assert.equal(await ways(), 1);
    const { status, body } = await recover({ only: 'this' });
    assert.deepEqual([status, await ways()], [200, 0]);
    await sql`
      insert into auth.passkeys (account_id, credential_id, public_key, counter, backed_up, transports, name, created_at)
      values (${accountId}, 'of somebody else', 'key', 0, false, '{}', 'Passkey', now())`;
    const code = /[A-Z2-9]{5}-[A-Z2-9]{5}/.exec(body)?.[0] ?? '';
    await new PlayedBrowser().send(`${base}/auth/recover`, { email, code, password, only: 'this' });
    assert.equal(await ways(), 0);
  });

  test('a suspended person is told so by the hub, and asked who they are by the provider', async () => {
    const { browser, id } = await person(t, `${base}/auth`);
    await browser.follow(`${base}/hub/login/start`);
    await t.gateway.kernel.sql`update accounts.accounts set suspended_at = now() where id = ${id}`;
    await t.gateway.kernel.gateways.announce(credentialsChanged, { accountId: id });
    const token = browser.cookies.get('__Host-svc_login')?.value ?? '';
    for (const path of ['/v1/me', '/hub/login']) {
      const { status, body } = await http(base, path, { headers: headersOf(token) });
      assert.deepEqual([status, body.error.code], [403, 'account_suspended'], path);
    }
    const again = await browser.follow(`${base}/hub/login/start`);
    assert.deepEqual([again.status, /\/sign-in\//.test(again.url)], [200, true], again.body);
  });

  test('who signs out at the provider is signed out of the hub too; who stays is not', async () => {
    const { browser } = await person(t, `${base}/auth`);
    await browser.follow(`${base}/hub/login/start`);
    const token = browser.cookies.get('__Host-svc_login')?.value ?? '';
    const statusOf = async () => (await http(base, '/v1/me', { headers: headersOf(token) })).status;
    const confirm = async (fields: Record<string, string>) => {
      const { body } = await browser.open(`${base}/auth/logout`);
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(body)?.[1] ?? '';
      return browser.send(`${base}/auth/logout/confirm`, { xsrf, ...fields });
    };
    await confirm({});
    assert.equal(await statusOf(), 200);
    await confirm({ logout: 'yes' });
    assert.equal(await statusOf(), 401);
  });

  test('who signs out all others stays signed in at the provider too; a copy of its cookie, and every other browser, do not', async () => {
    const { browser, ...account } = await person(t, `${base}/auth`);
    const other = new PlayedBrowser();
    const page = await other.follow(`${base}/hub/login/start`);
    await other.follow(await other.send(page.url, { email: account.email, password }));
    await browser.follow(`${base}/hub/login/start`);
    const thief = new PlayedBrowser();
    for (const [name, cookie] of browser.cookies)
      if (name.startsWith('__Host-svc_session')) thief.cookies.set(name, cookie);
    const guest = await person(t, `${base}/auth`);
    const lands = async (one: PlayedBrowser) => {
      one.cookies.delete('__Host-svc_login');
      return (await one.follow(`${base}/hub/login/start`)).url.includes('/sign-in/') ? 'asked' : 'in';
    };
    const own = { 'sec-fetch-site': 'same-origin' };
    const ended = await browser.open(`${base}/v1/me/logins`, { method: 'DELETE', headers: own });
    assert.deepEqual([ended.status, JSON.parse(ended.body)], [200, { ended: 1 }]);
    assert.deepEqual(await Promise.all([browser, thief, other].map(lands)), ['in', 'asked', 'asked']);
    // The session of somebody else in this browser is none of the account's, and stays theirs.
    const mixed = await signIn(t.gateway, account);
    const session = ['', '.sig'].map((end) => {
      const name = `__Host-svc_session${end}`;
      return `${name}=${guest.browser.cookies.get(name)?.value}`;
    });
    const cookie = [`__Host-svc_login=${mixed.token}`, ...session].join('; ');
    const answer = await fetch(`${base}/v1/me/logins`, { method: 'DELETE', headers: { ...own, cookie } });
    const [line = '', ...more] = answer.headers.getSetCookie();
    assert.deepEqual([answer.status, line.slice(0, line.indexOf('=')), more], [200, '__Host-svc_login', []]);
    assert.deepEqual([await lands(browser), await lands(guest.browser)], ['asked', 'in']);
  });

  test('who signs out all others, or sets another password, gets another cookie of the hub: a copy of the former ends at its first use', async () => {
    const { browser } = await person(t, `${base}/auth`);
    await browser.follow(`${base}/hub/login/start`);
    const tokenOf = () => browser.cookies.get('__Host-svc_login')?.value ?? '';
    const statusOf = async (token: string) => (await http(base, '/v1/me', { headers: headersOf(token) })).status;
    const own = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
    const acts = [
      { path: '/v1/me/logins', method: 'DELETE' },
      { path: '/v1/me/password', method: 'PUT', body: JSON.stringify({ password: 'a longer and other one 83' }) },
    ];
    for (const { path, ...act } of acts) {
      const before = tokenOf();
      const { status, body } = await browser.open(`${base}${path}`, { ...act, headers: own });
      assert.equal(status, 200, body);
      assert.notEqual(tokenOf(), before, path);
      // Until the browser shows that it has the new one: its other tabs asked with the former meanwhile.
      assert.equal(await statusOf(before), 200);
      assert.deepEqual([await statusOf(tokenOf()), await statusOf(before)], [200, 401], path);
    }
  });

  test('a session that was ended while a request had it stays ended, whatever the request writes at its end', async () => {
    const { kernel } = t.gateway;
    const account = await invited(t);
    const sessions = new Records(kernel, 'Session', (message) => new Error(message));
    const begin = async () => {
      const [id, uid] = [randomUUID(), randomUUID()];
      const payload = { accountId: account.id, uid, jti: id, kind: 'Session' };
      await sessions.upsert(id, payload, 3_600);
      // What a request does: it reads, and writes again when it is over.
      return { id, write: () => sessions.upsert(id, payload, 3_600) };
    };
    const [first, second, third] = [await begin(), await begin(), await begin()];
    await second.write();
    const kept = await inTransaction(kernel.sql, (tx) =>
      endOtherSessions(tx, kernel, { accountId: account.id, id: first.id }),
    );
    for (const { write } of [first, second]) await assert.rejects(write());
    await sessions.destroy(third.id);
    await assert.rejects(third.write());
    for (const { id } of [first, second, third]) assert.equal(await sessions.find(id), undefined);
    assert.ok(await sessions.find(kept?.id ?? ''));
  });

  test('a phone that was let in, and a code for the hub, sign nobody in after "sign out everywhere"', async () => {
    const { browser, ...account } = await person(t, `${base}/auth`);
    const thief = await signIn(t.gateway, account);
    const link = (await thief.ask('POST', '/v1/me/links')).body as { id: string; url: string };
    const phone = new PlayedBrowser();
    const { body } = await phone.send(`${base}/auth/phone`, { token: link.url });
    const number = Number(/<code>(\d\d)<\/code>/.exec(body)?.[1]);
    assert.equal(await thief.said('POST', `/v1/me/links/${link.id}/confirm`, { number }), '200');
    const held = await browser.follow(`${base}/hub/login/start`, (to) => to.includes('/hub/callback'));
    const owner = await signIn(t.gateway, account);
    assert.equal(await owner.said('DELETE', '/v1/me/logins'), '200');
    await phone.follow(`${base}/auth/phone`);
    assert.equal(isIn(phone), false);
    await browser.follow(held.to ?? '');
    assert.equal(isIn(browser), false);
  });
});
