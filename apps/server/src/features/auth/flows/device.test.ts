import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { Connections } from '../../connections/index.ts';
import { Identity } from '../auth.identity.ts';
import { openPlatform, type Platform, type PlayedBrowser, person } from '../auth.testing.ts';

describe('a device whose code is typed where somebody is signed in', () => {
  let t: Platform;
  before(async () => {
    t = await openPlatform();
  });
  after(() => t[Symbol.asyncDispose]());
  const auth = () => `http://localhost:${t.port}/auth`;
  const ask = async (path: string, fields: Record<string, string>) => {
    const answer = await fetch(`${auth()}${path}`, { method: 'POST', body: new URLSearchParams(fields) });
    return (await answer.json()) as Record<string, string>;
  };
  const valueOf = (body: string, name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(body)?.[1] ?? '';

  /** Asks for a code, types it, and answers what the page with it says. */
  async function typeCode(browser: PlayedBrowser, scope: string, more: Record<string, string> = {}) {
    const resource = `http://localhost:${t.port}`;
    const fields = { client_id: 'svc-cli', scope: `openid ${scope}`, resource, ...more };
    const { device_code = '', user_code = '' } = await ask('/device/authorize', fields);
    const typed = { xsrf: valueOf((await browser.open(`${auth()}/device`)).body, 'xsrf'), user_code };
    const { body } = await browser.send(`${auth()}/device`, typed);
    const hidden = { user_code, xsrf: valueOf(body, 'xsrf'), confirm: 'yes' };
    const grant = { client_id: 'svc-cli', grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code };
    return {
      body,
      code: user_code,
      account: valueOf(body, 'account'),
      allow: async (said: Record<string, string>) =>
        browser.follow(await browser.send(`${auth()}/device`, { ...hidden, ...said })),
      poll: () => ask('/token', grant),
    };
  }

  test('is let in by one page: it shows the code, what asks and who answers, and what is ticked there is given', async () => {
    const { browser, id, email } = await person(t, auth());
    const { body, code, account, allow, poll } = await typeCode(browser, 'heartbeats:read hosts:exec');
    for (const shown of [code, email, wordsOf('en').device.warning, 'value="heartbeats:read"', 'value="hosts:exec"'])
      assert.ok(body.includes(shown), shown);
    assert.equal(account, id);
    assert.equal((await poll())['error'], 'authorization_pending', 'the page alone gives nothing');
    const done = await allow({ account, scope: 'heartbeats:read' });
    assert.ok(done.body.includes(wordsOf('en').device.doneTitle), done.body);
    assert.equal((await poll())['scope'], 'heartbeats:read');
    const kept = await t.gateway.kernel.sql<{ scopes: string[] }[]>`
      select scopes from connections.connections where account_id = ${id}`;
    assert.deepEqual(
      kept.map(({ scopes }) => scopes),
      [['heartbeats:read']],
    );
  });

  test('gets nothing strong that is not ticked by hand: somebody else may have sent the code, of our own program too', async () => {
    const boxOf = (page: string, scope: string) =>
      new RegExp(`<input[^>]*value="${scope}"[^>]*>`).exec(page)?.[0] ?? '';
    const check = (page: string) => {
      assert.match(boxOf(page, 'heartbeats:read'), / checked/);
      for (const scope of ['hosts:exec', 'environments:terminal', 'notifications']) {
        assert.notEqual(boxOf(page, scope), '');
        assert.doesNotMatch(boxOf(page, scope), / checked/, scope);
      }
    };
    const { browser } = await person(t, auth());
    const scope = 'heartbeats:read hosts:exec environments:terminal notifications';
    check((await typeCode(browser, scope)).body);
    // On the page of consent, which comes where a newer proof is asked for.
    const { allow } = await typeCode(browser, scope, { prompt: 'consent' });
    check((await allow({})).body);
  });

  test('that is refused there gets nothing', async () => {
    const { browser } = await person(t, auth());
    const { account, allow, poll } = await typeCode(browser, 'heartbeats:read');
    await allow({ account, scope: 'heartbeats:read', abort: 'yes' });
    assert.equal((await poll())['error'], 'access_denied');
  });

  test('asks on a page of its own where a newer proof is wanted, the proof is old, or somebody else is signed in', async () => {
    const [first, other] = [await person(t, auth()), await person(t, auth())];
    assert.equal((await typeCode(first.browser, 'heartbeats:read', { max_age: '0' })).account, '');
    const page = await typeCode(first.browser, 'heartbeats:read');
    assert.match((await page.allow({ account: other.id, scope: 'heartbeats:read' })).url, /\/consent\//);
    assert.equal((await page.poll())['error'], 'authorization_pending');
    const late = await typeCode(first.browser, 'heartbeats:read');
    const { kernel } = t.gateway;
    const { provider } = await new Identity(kernel, new Connections(kernel)).open();
    const session = await provider.Session.find(first.browser.cookies.get('__Host-svc_session')?.value ?? '');
    assert.ok(session);
    session.loginTs = (session.loginTs ?? 0) - 700;
    await session.persist();
    await late.allow({ account: late.account, scope: 'heartbeats:read' });
    assert.equal((await late.poll())['error'], 'authorization_pending');
    assert.equal((await typeCode(first.browser, 'heartbeats:read')).account, '');
  });
});
