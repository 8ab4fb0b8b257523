import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TestMailServer } from '../notifications/notifications.testing.ts';
import { invited, openPlatform, password, type Platform, PlayedBrowser } from './auth.testing.ts';

describe('what no person types', () => {
  const server = new TestMailServer();
  let t: Platform;
  let base: string;
  before(async () => {
    await server.listen();
    t = await openPlatform((port) => ({
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_SMTP_URL: server.url,
      SVC_MAIL_FROM: 'svc@svc.test',
      SVC_SIGNUP: 'example.test',
    }));
    base = `http://localhost:${t.port}`;
  });
  after(async () => {
    await t[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  test('is the fault of who sends it', async () => {
    const browser = new PlayedBrowser();
    const { url } = await browser.follow(`${base}/hub/login/start`);
    const { token: carry, email } = await invited(t);
    const forms: [string, Record<string, string>][] = [
      [url, { email: 'a\0@x.test', password }],
      [url, { email: 'a\0@x.test', way: 'mail' }],
      [url, { passkey: 'null' }],
      [url, { passkey: '1' }],
      [`${base}/auth/recover`, { email: 'a\0@x.test', way: 'mail' }],
      [`${base}/auth/sign-up`, { email: 'a\0@example.test' }],
      [`${base}/auth/setup`, { carry, email, password, name: 'a\0' }],
      [`${base}/auth/token`, { client_id: 'a\0', grant_type: 'authorization_code', code: 'x' }],
      [`${base}/auth/device/authorize`, { client_id: 'a\0', scope: 'openid' }],
    ];
    for (const [to, fields] of forms) {
      const { status } = await browser.send(to, fields);
      assert.ok(status === 400 || status === 401, `${to} ${JSON.stringify(fields)} ${status}`);
    }
    const long = await browser.send(url, { email: `${'a'.repeat(30_000)}@x.test`, way: 'mail' });
    assert.equal(long.status, 200);
    for (const id of ['%00', 'https%3A%2F%2Fa%00b.test%2Fx']) {
      const { status } = await browser.open(`${base}/auth/authorize?client_id=${id}`);
      assert.equal(status, 400, id);
    }
    const registered = await fetch(`${base}/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'a\0b', redirect_uris: ['https://app.test/callback'] }),
    });
    assert.equal(registered.status, 400);
  });
});
