import assert from 'node:assert/strict';
import { test } from 'node:test';
import { http } from '../../testing.ts';
import { headersOf } from '../me/me.testing.ts';
import { openPlatform, password, person, PlayedBrowser } from '../auth/auth.testing.ts';

test('a browser that signs in once more has one login, and is told of as new once', async () => {
  await using t = await openPlatform();
  const base = `http://localhost:${t.port}`;
  const { browser, id, email } = await person(t, `${base}/auth`);
  const begin = () => browser.follow(`${base}/hub/login/start`);
  const cookie = () => browser.cookies.get('__Host-svc_login')?.value ?? '';
  const statusOf = async (token: string) => (await http(base, '/v1/me', { headers: headersOf(token) })).status;
  const noticesOf = async () =>
    (
      await t.gateway.kernel
        .sql`select from notifications.notifications where type = 'login.new' and account_id = ${id}`
    ).length;
  await begin();
  const first = cookie();
  assert.equal(await statusOf(first), 200);
  await begin();
  const second = cookie();
  assert.deepEqual([await statusOf(first), await statusOf(second), await noticesOf()], [401, 200, 0]);
  const other = new PlayedBrowser();
  const page = await other.follow(`${base}/hub/login/start`);
  await other.follow(await other.send(page.url, { email, password }));
  assert.deepEqual([await statusOf(second), await noticesOf()], [200, 1]);
  // Somebody else sits down at it: the former person's login ends with theirs.
  const guest = await person(t, `${base}/auth`, browser);
  await begin();
  assert.equal(await statusOf(second), 401);
  const { body } = await http(base, '/v1/me', { headers: headersOf(cookie()) });
  assert.equal(body.account.id, guest.id);
});
