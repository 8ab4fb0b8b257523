import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { bySystem } from '../../../kernel/records/audit.ts';
import { changeStanding } from '../../accounts/accounts.people.ts';
import { Connections } from '../../connections/index.ts';
import { Identity } from '../auth.identity.ts';
import { openPlatform, person, type Platform } from '../auth.testing.ts';

describe('a consent page that stayed open', () => {
  let t: Platform;
  let auth: string;
  before(async () => {
    t = await openPlatform();
    auth = `http://localhost:${t.port}/auth`;
  });
  after(() => t[Symbol.asyncDispose]());

  async function opened(scope = 'usage:read') {
    const account = await person(t, auth);
    const id = randomUUID();
    const { sql } = t.gateway.kernel;
    await sql`insert into auth.clients (id, name, redirect_uris, native) values (${id}, 'App', ${['https://app.test/cb']}, false)`;
    const query = new URLSearchParams({
      client_id: id,
      redirect_uri: 'https://app.test/cb',
      response_type: 'code',
      scope: `openid ${scope}`,
      resource: `http://localhost:${t.port}`,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
    const again = () => account.browser.follow(`${auth}/authorize?${query.toString()}`);
    const { url } = await again();
    assert.match(url, /\/consent\//);
    const allow = async () => (await account.browser.send(url, { scope, decision: 'allow' })).status;
    const connections = async () =>
      (await sql`select 1 from connections.connections where account_id = ${account.id}`).length;
    return { ...account, allow, connections, again };
  }

  test('lets no app into a suspended account', async () => {
    const { id, allow, connections } = await opened();
    await changeStanding(t.gateway.kernel, { id, suspended: true, by: bySystem });
    assert.deepEqual([await allow(), await connections()], [400, 0]);
  });

  test('lets no app into the account of who sat there before', async () => {
    const { browser, allow, connections } = await opened();
    await person(t, auth, browser);
    assert.deepEqual([await allow(), await connections()], [400, 0]);
  });

  test('lets no app have strong scopes when the proof of who consents is over ten minutes old', async () => {
    const { kernel } = t.gateway;
    for (const [scope, status] of [
      ['hosts', 400],
      ['usage:read', 200],
    ] as const) {
      const { browser, allow, again, email } = await opened(scope);
      const { provider } = await new Identity(kernel, new Connections(kernel)).open();
      const session = await provider.Session.find(browser.cookies.get('__Host-svc_session')?.value ?? '');
      assert.ok(session);
      session.loginTs = (session.loginTs ?? 0) - 700;
      await session.persist();
      assert.equal(await allow(), status, scope);
      if (status === 200) continue;
      // It says whom it asks, and does not ask for the address of who is known.
      const { url, body: text } = await again();
      assert.match(url, /\/sign-in\//);
      assert.match(text, /<h1[^>]*>Confirm that it is you<\/h1>/);
      assert.ok(text.includes(`value="${email}"`) && text.includes('You are signed in as'), text);
    }
  });

  test('lets the app in else', async () => {
    const { allow, connections } = await opened();
    assert.deepEqual([await allow(), await connections()], [200, 1]);
  });
});
