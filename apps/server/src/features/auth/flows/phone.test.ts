import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shared } from '../../../testing.shared.ts';
import { createAccount, openTest, type TestGateway } from '../../../testing.ts';
import { signIn } from '../../me/me.testing.ts';

/** A browser of a phone: keeps cookies, and goes where pages send it. */
class Phone {
  readonly #at: string;
  readonly cookies = new Map<string, string>();

  constructor(gateway: Pick<TestGateway, 'url'>) {
    this.#at = gateway.url.replace('127.0.0.1', 'localhost');
  }

  async #send(path: string, init: RequestInit = {}) {
    const answer = await fetch(this.#at + path, {
      redirect: 'manual',
      ...init,
      headers: {
        accept: 'text/html',
        'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/605',
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(init.headers as Record<string, string>),
      },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
      assert.match(line, /HttpOnly; Secure|httponly|svc_account=/i);
    }
    const text = await answer.text();
    const to = answer.headers.get('location') ?? /content="0;url=([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    return { status: answer.status, text, to };
  }

  open(path = '/auth/phone') {
    return this.#send(path);
  }

  send(token: string, site = 'same-origin') {
    return this.#send('/auth/phone', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': site },
      body: new URLSearchParams({ token }),
    });
  }

  /** Follows redirects until there is none. */
  async follow(to: string | undefined): Promise<void> {
    for (let next = to; next !== undefined; ) {
      const { pathname, search } = new URL(next, this.#at);
      next = (await this.#send(pathname + search)).to;
      if (pathname === '/hub/') return;
    }
  }
}

const numberOn = (text: string): number => Number(/<code>(\d\d)<\/code>/.exec(text)?.[1]);

describe('a phone', () => {
  const { gateway } = shared(() => openTest());
  const start = async (provedAt?: number) => {
    const account = await createAccount(gateway);
    const login = await signIn(gateway, account, { ...(provedAt !== undefined && { provedAt }) });
    const link = (await login.ask('POST', '/v1/me/links')).body as { id: string; url: string; code: string };
    const state = async () => (await login.ask('GET', `/v1/me/links/${link.id}`)).body;
    return { account, login, link, state, phone: new Phone(gateway) };
  };

  test('is signed in by the QR code once its number was picked, without a script, and with an old proof', async () => {
    const { account, login, link, state, phone } = await start();
    assert.equal((await state()).state, 'open');
    assert.match(link.url, /^http:\/\/(?:localhost|127\.0\.0\.1)[^#]*\/auth\/phone#[\w-]{43}$/);
    assert.match((await phone.open()).text, /Sign in this device/);
    const shown = await phone.send(link.url);
    assert.match(shown.text, /http-equiv="refresh" content="3;url=\/auth\/phone"/);
    const number = numberOn(shown.text);
    assert.equal(numberOn((await phone.open()).text), number);
    const claimed = await state();
    assert.deepEqual([claimed.state, claimed.phone.name], ['claimed', 'Safari on iPhone']);
    assert.ok(claimed.numbers.length === 3 && claimed.numbers.includes(number));
    const confirm = `/v1/me/links/${link.id}/confirm`;
    assert.deepEqual((await login.ask('POST', confirm, { number })).body, { confirmed: true });
    assert.equal(await login.said('POST', confirm, { number }), '404 not_found');
    assert.equal((await state()).state, 'confirmed');
    const done = await phone.open();
    assert.equal(done.status, 303);
    assert.equal((await state()).state, 'used');
    assert.equal(phone.cookies.has('__Host-svc_claim'), false);
    await phone.follow(done.to);
    const text = phone.cookies.get('__Host-svc_login');
    assert.ok(text, 'the hub signed it in');
    const headers = { cookie: `__Host-svc_login=${text}`, 'sec-fetch-site': 'same-origin' };
    const me = await fetch(`${gateway.url}/v1/me`, { headers });
    assert.equal(((await me.json()) as { account: { id: string } }).account.id, account.id);
    const codes = await fetch(`${gateway.url}/v1/me/recovery-codes`, { method: 'POST', headers });
    assert.deepEqual(
      [codes.status, ((await codes.json()) as { error: { code: string } }).error.code],
      [403, 'reauth_required'],
    );
  });

  test('gets no younger proof than the browser that let it in, and stays signed in no longer than that', async () => {
    const { login, link, phone } = await start(Date.now() - 20 * 86_400_000);
    // A proof of later does not make that browser's sign-in longer.
    const { sql } = gateway.kernel;
    await sql`update auth.logins set auth_time = now() where id = ${login.id}`;
    const number = numberOn((await phone.send(link.url)).text);
    await login.ask('POST', `/v1/me/links/${link.id}/confirm`, { number });
    await phone.follow((await phone.open()).to);
    const rows = await sql<{ id: string; auth_time: string; expires_at: string }[]>`
      select id, auth_time, expires_at from auth.logins
      where account_id = (select account_id from auth.logins where id = ${login.id})`;
    const [made, maker] = [rows.find(({ id }) => id !== login.id), rows.find(({ id }) => id === login.id)];
    assert.ok(made && maker);
    assert.ok(Date.parse(made.auth_time) < Date.now() - 19 * 86_400_000, made.auth_time);
    assert.ok(Date.parse(made.expires_at) <= Date.parse(maker.expires_at), `${made.expires_at} ${maker.expires_at}`);
  });

  test('takes the eight letters as they are typed; a second phone gets nothing', async () => {
    const { link, state, phone } = await start();
    const shown = await phone.send(` ${link.code.toLowerCase().replace('-', ' ')} `);
    assert.ok(numberOn(shown.text) >= 10);
    assert.equal((await state()).state, 'claimed');
    const late = await new Phone(gateway).send(link.url);
    assert.equal(late.status, 400);
    assert.match(late.text, /used or over/);
  });

  test('whose number was not picked is told that the link is over', async () => {
    const { login, link, state, phone } = await start();
    const number = numberOn((await phone.send(link.url)).text);
    const { numbers } = await state();
    const wrong = numbers.find((one: number) => one !== number);
    const path = `/v1/me/links/${link.id}/confirm`;
    assert.deepEqual((await login.ask('POST', path, { number: wrong })).body, { confirmed: false });
    const answer = await phone.open();
    assert.deepEqual([answer.status, phone.cookies.size], [400, 0]);
    assert.equal(await login.said('GET', `/v1/me/links/${link.id}`), '404 not_found');
  });

  test('of a network that typed wrong letters has to wait, right ones too; a QR code does not', async () => {
    const { link, phone } = await start();
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push((await phone.send('ABCD-EFGH')).status);
    assert.deepEqual([...new Set(statuses)], [400, 429]);
    assert.ok(statuses.filter((status) => status === 400).length <= 10);
    const refused = await phone.send(link.code);
    assert.equal(refused.status, 429);
    assert.match(refused.text, /Wait/);
    assert.ok(numberOn((await phone.send(link.url)).text) >= 10);
  });

  test('takes no form that another site sent', async () => {
    const { link, state, phone } = await start();
    const { status } = await phone.send(link.url, 'cross-site');
    assert.ok(status >= 400);
    assert.equal((await state()).state, 'open');
  });
});
