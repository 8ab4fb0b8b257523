import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { testClock } from '../../../kernel/base/clock.ts';
import { bySystem } from '../../../kernel/records/audit.ts';
import { shared } from '../../../testing.shared.ts';
import { createAccount, until } from '../../../testing.ts';
import { TestMailServer } from '../../notifications/notifications.testing.ts';
import { openPlatform, PlayedBrowser } from '../auth.testing.ts';
import { createLogin } from '../people/logins.ts';
import { mayMail } from '../people/mails.ts';
import { sweepPeople } from '../people/sweep.ts';

const server = new TestMailServer();

describe('mails that strangers ask for', () => {
  const clock = testClock(Date.parse('2026-11-23T09:00:10Z'));
  const { gateway, mails } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    await opening.use(server).listen();
    const settingsOf = (port: number) => ({
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_SIGNUP: 'example.org',
      SVC_SMTP_URL: server.url,
      SVC_MAIL_FROM: 'svc@svc.test',
      SVC_TRUSTED_PROXIES: '127.0.0.1,::1',
    });
    const opened = opening.use(await openPlatform(settingsOf, { clock }));
    const stack = opening.move();
    return {
      gateway: opened.gateway,
      mails: server.mails,
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  });

  const browserAt = (network: string) =>
    new PlayedBrowser((url, init) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), 'x-forwarded-for': network } }),
    );

  /** Asks for a mail of each kind, as the pages do. */
  const kinds: Readonly<Record<string, (network: string, email: string) => Promise<{ status: number; body: string }>>> =
    {
      recovery: (network, email) =>
        browserAt(network).send(`${gateway.kernel.config.baseUrl}/auth/recover`, { email, way: 'mail' }),
      invitation: (network, email) =>
        browserAt(network).send(`${gateway.kernel.config.baseUrl}/auth/sign-up`, { email }),
      code: async (network, email) => {
        const browser = browserAt(network);
        const page = await browser.follow(`${gateway.kernel.config.baseUrl}/hub/login/start`);
        assert.equal(page.status, 200, `${page.url} ${page.body}`);
        return browser.send(page.url, { email, way: 'mail' });
      },
    };
  const addressFor = async (kind: string): Promise<string> =>
    kind === 'invitation' ? `${randomUUID()}@example.org` : (await createAccount(gateway)).email;

  for (const [kind, ask] of Object.entries(kinds))
    test(`keep nobody else from a mail of the kind ${kind}, and whose network asked too often is told so`, async () => {
      clock.leap(60_000);
      const email = await addressFor(kind);
      const before = mails.length;
      const strangers = [];
      for (let i = 0; i < 5; i += 1) strangers.push(await ask('198.51.100.1', email));
      assert.deepEqual(
        strangers.map(({ status }) => status),
        [200, 200, 200, 429, 429],
      );
      assert.match(strangers.at(-1)?.body ?? '', /Too many tries\. Wait/);
      assert.doesNotMatch(strangers.at(-1)?.body ?? '', /on its way/);
      const own = await ask('203.0.113.9', email);
      assert.equal(own.status, 200);
      assert.match(own.body, /on its way, unless too many mails went there today/);
      await until(() => mails.length - before >= 4);
      assert.equal(mails.length - before, 4);
      // An address that gets none is told the same.
      const nobody = await ask('203.0.113.10', `${randomUUID()}@example.net`);
      const plain = (page: { body: string }) => page.body.replaceAll(/[\w-]+@[\w.]+|sign-in\/[\w-]+/g, '');
      assert.equal(plain(nobody), plain(own));
    });

  test('are ten a minute for a network, to whatever addresses', async () => {
    clock.leap(60_000);
    const statuses = [];
    for (let i = 0; i < 11; i += 1) {
      const kind = i % 2 === 0 ? 'recovery' : 'invitation';
      statuses.push((await kinds[kind]?.('198.51.100.2', `${randomUUID()}@example.net`))?.status);
    }
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429]);
  });

  test('are twenty a day to an address, five from one network; where its person signed in lately twenty more', async () => {
    clock.leap(60_000);
    const { id: accountId, email } = await createAccount(gateway);
    const { kernel } = gateway;
    const network = '203.0.113.9';
    await createLogin(kernel, { accountId, amr: ['pwd'], name: '', platform: '', network, by: bySystem });
    const may = (from: string, typed = email) => mayMail(kernel, { email: typed, accountId, network: from });
    const countOf = async (tries: number, from: (i: number) => string) => {
      const answers = [];
      for (let i = 0; i < tries; i += 1) answers.push(await may(from(i), i % 2 === 0 ? email : email.toUpperCase()));
      return answers.filter(Boolean).length;
    };
    const other = '198.51.100.3';
    assert.equal(await countOf(7, () => other), 5);
    assert.equal(await countOf(30, (i) => `198.51.101.${i}`), 15);
    assert.equal(await countOf(30, () => network), 20);
    // The page says that it may be so, and sends none.
    const before = mails.length;
    assert.equal((await kinds['recovery']?.('198.51.102.1', email))?.status, 200);
    const marker = await addressFor('recovery');
    await kinds['recovery']?.('198.51.102.1', marker);
    await until(() => mails.length > before);
    assert.deepEqual(mails.at(-1)?.to, [marker]);
    clock.leap(86_400_000);
    assert.equal(await may(other), true);
    await sweepPeople.run(kernel);
    const rows = await kernel.sql`select sent from auth.mails where day < ${new Date(clock.now()).toISOString()}::date`;
    assert.equal(rows.length, 0);
  });

  test('end no link that the person asked for', async () => {
    clock.leap(60_000);
    const { email } = await createAccount(gateway);
    const before = mails.length;
    await kinds['recovery']?.('203.0.113.9', email);
    await until(() => mails.length > before);
    const link =
      /#([\w-]{43})/.exec(mails.at(-1)?.text.replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? '')?.[1] ?? '';
    for (let i = 0; i < 8; i += 1) {
      await kinds['recovery']?.(`198.51.103.${i >> 1}`, email);
      await until(() => mails.length > before + 1 + i);
    }
    const { status } = await browserAt('203.0.113.9').send(`${gateway.kernel.config.baseUrl}/auth/link`, {
      token: link,
    });
    assert.equal(status, 200);
  });
});
