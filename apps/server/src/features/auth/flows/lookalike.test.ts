import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../testing.ts';
import { TestMailServer } from '../../notifications/notifications.testing.ts';
import { openPlatform, person, PlayedBrowser } from '../auth.testing.ts';

test('mail that lets people in goes to the address of the account, whatever was typed that looks the same to the database', async () => {
  await using server = new TestMailServer();
  await server.listen();
  await using t = await openPlatform((port) => ({
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_SMTP_URL: server.url,
    SVC_MAIL_FROM: 'svc@svc.test',
  }));
  const base = `http://localhost:${t.port}`;
  const { id, email } = await person(t, `${base}/auth`);
  const owned = email.replace('@example.test', '.mike@github.test');
  const { sql } = t.gateway.kernel;
  await sql`update accounts.accounts set email = ${owned} where id = ${id}`;
  const browser = new PlayedBrowser();
  const page = await browser.follow(`${base}/hub/login/start`);
  // A capital I with a dot, and the sign of Kelvin.
  for (const typed of [owned.replace('github', 'g\u0130thub'), owned.replace('mike', 'mi\u212ae')])
    for (const url of [`${base}/auth/recover`, page.url]) {
      const before = server.mails.length;
      await browser.send(url, { email: typed, way: 'mail' });
      await until(() => server.mails.length > before);
      assert.deepEqual(server.mails.at(-1)?.to, [owned]);
    }
});
