import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { shared } from '../../../testing.shared.ts';
import { createAccount, openTest, until } from '../../../testing.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { createLink } from '../people/links.ts';
import { setOperator } from '../../accounts/index.ts';
import { signIn } from '../../me/me.testing.ts';
import { TestMailServer } from '../../notifications/notifications.testing.ts';

const server = new TestMailServer();

describe('who has an address of the operator’s domain', () => {
  const { gateway, mails } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(server).listen();
    const settings = { SVC_SIGNUP: 'Example.test', SVC_SMTP_URL: server.url, SVC_MAIL_FROM: 'svc@svc.test' };
    const opened = opening.use(await openTest({ settings }));
    const stack = opening.move();
    return { gateway: opened.gateway, mails: server.mails, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  });

  async function post(path: string, fields: Record<string, string>) {
    const answer = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        accept: 'text/html',
      },
      body: new URLSearchParams(fields),
    });
    const text = await answer.text();
    return { status: answer.status, text, title: /<h1>(.*?)<\/h1>/.exec(text)?.[1] };
  }
  const accountsOf = async (email: string) =>
    (await gateway.kernel.sql`select 1 from accounts.accounts where email = ${email}`).length;
  const allow = () => gateway.kernel.sql`delete from kernel.rate_windows`;
  const tokenIn = (text: string): string =>
    /#([\w-]{43})/.exec(text.replaceAll('=\r\n', '').replaceAll('=3D', '='))?.[1] ?? '';

  test('gets an invitation, whose account is made when it is opened; all others read the same and get nothing', async () => {
    const member = `${randomUUID()}@example.test`;
    const known = await createAccount(gateway);
    const pages: string[] = [];
    for (const email of [known.email, 'x@example.test.evil.com', 'x@sub.example.test', member]) {
      await allow();
      const { status, text } = await post('/auth/sign-up', { email });
      assert.equal(status, 200);
      pages.push(text);
    }
    assert.equal(new Set(pages).size, 1);
    await until(() => mails.length > 0);
    assert.deepEqual(
      mails.flatMap(({ to }) => to),
      [member],
    );
    assert.equal(await accountsOf(member), 0);
    const token = tokenIn(mails[0]?.text ?? '');
    assert.equal((await post('/auth/link', { token })).title, 'Welcome');
    assert.equal(await accountsOf(member), 1);
    const password = 'three purple kettles';
    assert.equal((await post('/auth/link', { carry: token, name: 'Ioana', password })).title, 'Your recovery codes');
    assert.equal((await post('/auth/link', { token })).status, 400);
  });

  test('whose address another account took meanwhile is told that the invitation is over', async () => {
    await allow();
    const email = `${randomUUID()}@example.test`;
    const before = mails.length;
    await post('/auth/sign-up', { email });
    await until(() => mails.length > before);
    const { sql } = gateway.kernel;
    await sql`insert into accounts.accounts (email) values (${email.toUpperCase()})`;
    assert.equal((await post('/auth/link', { token: tokenIn(mails.at(-1)?.text ?? '') })).status, 400);
  });

  test('gets the form in which addresses are kept now, though a release before made the invitation', async () => {
    const name = randomUUID();
    const email = `${name}@пример.test`;
    const { token } = await createLink(gateway.kernel, { purpose: 'invite', email, by: bySystem });
    assert.equal((await post('/auth/link', { token })).title, 'Welcome');
    assert.equal(await accountsOf(`${name}@xn--e1afmkfd.test`), 1);
  });

  test('asks three times a minute at most, and not for what is no address', async () => {
    await allow();
    assert.equal((await post('/auth/sign-up', { email: 'nobody' })).status, 400);
    const minute = () => Math.floor(Date.now() / 60_000);
    const began = minute();
    let passed = 0;
    while (passed < 100 && (await post('/auth/sign-up', { email: 'x@other.test' })).status === 200) passed += 1;
    const minutes = minute() - began + 1;
    assert.ok(passed >= 3 && passed <= 3 * minutes, `${passed} in ${minutes} minutes`);
  });

  test('and who is invited by an operator gets a mail too', async () => {
    const account = await createAccount(gateway);
    await setOperator(gateway.kernel.sql, account.id, true);
    const login = await signIn(gateway, account);
    const before = mails.length;
    const email = `${randomUUID()}@elsewhere.test`;
    const { body } = await login.ask('POST', '/v1/accounts', { email });
    await until(() => mails.length > before);
    assert.deepEqual(mails.at(-1)?.to, [email]);
    assert.equal(tokenIn(mails.at(-1)?.text ?? ''), tokenIn(body.url));
  });

  test('finds the page by a link on the sign-in page; where the setting is off there is neither', async () => {
    const textOf = async (at: string, path: string) => {
      const url = at.replace('127.0.0.1', 'localhost');
      const jar: string[] = [];
      for (let next: string | undefined = path; ; ) {
        const answer: Response = await fetch(new URL(next, url), {
          redirect: 'manual',
          headers: { cookie: jar.join('; '), accept: 'text/html' },
        });
        jar.push(...answer.headers.getSetCookie().map((line) => line.split(';')[0] ?? ''));
        const to = answer.headers.get('location');
        if (to === null) return { status: answer.status, text: await answer.text() };
        const { pathname, search } = new URL(to, url);
        next = pathname + search;
      }
    };
    const link = /href="\/auth\/sign-up"/;
    assert.match((await textOf(gateway.url, '/hub/login/start')).text, link);
    await using off = await openTest({ settings: { SVC_SIGNUP: 'off' } });
    const { text } = await textOf(off.gateway.url, '/hub/login/start');
    assert.match(text, /type="password"/);
    assert.doesNotMatch(text, link);
    assert.equal((await textOf(off.gateway.url, '/auth/sign-up')).status, 404);
  });
});
