import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { TestMailServer } from '../notifications/notifications.testing.ts';
import { withinOneMinute } from '../../kernel/testing.ts';
import { until } from '../../testing.ts';
import { openPlatform, password, person, type Platform, PlayedBrowser } from './auth.testing.ts';

describe('strangers and apps', () => {
  const server = new TestMailServer();
  let t: Platform;
  let base: string;
  before(async () => {
    await server.listen();
    t = await openPlatform((port) => ({
      SVC_BASE_URL: `http://localhost:${port}`,
      SVC_SMTP_URL: server.url,
      SVC_MAIL_FROM: 'svc@svc.test',
    }));
    base = `http://localhost:${t.port}`;
  });
  after(async () => {
    await t[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  test('send three recovery mails a minute to an address, however they spell it', async () => {
    await withinOneMinute(async () => {
      const { email } = await person(t, `${base}/auth`);
      const before = server.mails.length;
      for (let i = 0; i < 8; i++) {
        const typed = Array.from(email, (sign, at) => ((i >> (at % 3)) & 1 ? sign.toUpperCase() : sign)).join('');
        const { status } = await new PlayedBrowser().send(`${base}/auth/recover`, { email: typed, way: 'mail' });
        assert.equal(status, i < 3 ? 200 : 429);
      }
      await until(() => server.mails.length - before >= 3);
      // Nothing tells that no fourth one comes.
      await setTimeout(500);
      assert.equal(server.mails.length - before, 3);
    });
  });

  test('are asked about again when a token for the tools is to be one for the API', async () => {
    const { browser } = await person(t, `${base}/auth`);
    const { sql } = t.gateway.kernel;
    const id = randomUUID();
    const redirectUri = 'https://app.test/callback';
    await sql`insert into auth.clients (id, name, redirect_uris, native) values (${id}, 'App', ${[redirectUri]}, false)`;
    const asked = async (resource: string) => {
      const query = new URLSearchParams({
        client_id: id,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid prompts:read',
        resource,
        state: 'state',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      });
      return (await browser.letIn(`${base}/auth/authorize?${query.toString()}`, redirectUri)).asked;
    };
    assert.deepEqual(await asked(`${base}/mcp`), ['prompts:read']);
    assert.deepEqual(await asked(`${base}/mcp`), []);
    assert.deepEqual(await asked(base), ['prompts:read']);
    assert.deepEqual(await asked(`http://127.0.0.1:${t.port}`), []);
  });

  test('keep nobody behind the same network out: one fails fifty times, another one signs in', async () => {
    const [failing, right] = [await person(t, `${base}/auth`), await person(t, `${base}/auth`)];
    const tries = async (email: string, password: string) => {
      const browser = new PlayedBrowser();
      return browser.send((await browser.follow(`${base}/hub/login/start`)).url, { email, password });
    };
    const browser = new PlayedBrowser();
    const page = await browser.follow(`${base}/hub/login/start`);
    const statuses: number[] = [];
    for (let i = 0; i < 50; i += 1)
      statuses.push((await browser.send(page.url, { email: failing.email, password: 'not this one' })).status);
    assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.at(-1)], [5, 429]);
    // It waits with the right one too: it alone.
    assert.equal((await tries(failing.email, password)).status, 429);
    assert.ok([200, 303].includes((await tries(right.email, password)).status));
  });

  test('guess 240 passwords a minute from a network, whosever they are, and whoever signed in there lately gets in', async () => {
    const { browser, email } = await person(t, `${base}/auth`);
    await browser.follow(`${base}/hub/login/start`);
    const stranger = new PlayedBrowser();
    const page = await stranger.follow(`${base}/hub/login/start`);
    const { limiter } = t.gateway.kernel;
    const take = () => limiter.take({ name: 'password_guess', perMinute: 240 }, '127.0.0.1');
    const tryOne = (address = `${randomUUID()}@example.com`, with_ = 'not this one') =>
      stranger.send(page.url, { email: address, password: with_ });
    await withinOneMinute(async () => {
      assert.equal((await tryOne()).status, 401);
      while ((await take()).allowed);
      assert.equal((await tryOne()).status, 429);
      // Nobody learns who signs in from there.
      assert.equal((await tryOne(email)).status, 429);
      assert.ok([200, 303].includes((await tryOne(email, password)).status));
    });
  });

  test('send more passwords than are taken from a network: whoever signed in there lately gets in, all others wait alike', async () => {
    const { browser, email } = await person(t, `${base}/auth`);
    await browser.follow(`${base}/hub/login/start`);
    const another = await person(t, `${base}/auth`);
    await t.gateway.kernel.sql`delete from auth.logins where account_id = ${another.id}`;
    const stranger = new PlayedBrowser();
    const { url } = await stranger.follow(`${base}/hub/login/start`);
    const { limiter } = t.gateway.kernel;
    const take = () => limiter.take({ name: 'password', perMinute: 600 }, '127.0.0.1');
    const tryOne = (address: string, with_: string) => stranger.send(url, { email: address, password: with_ });
    await withinOneMinute(async () => {
      while ((await take()).allowed);
      const refused = [];
      for (const address of [email, another.email, 'nobody@example.test']) {
        const { status, body } = await tryOne(address, 'not this one');
        refused.push([status, body.replaceAll(address, '')]);
      }
      assert.equal(refused[0]?.[0], 429);
      assert.deepEqual(refused[1], refused[0]);
      assert.deepEqual(refused[2], refused[0]);
      assert.equal((await tryOne(another.email, password)).status, 429);
      assert.ok([200, 303].includes((await tryOne(email, password)).status));
    });
  });

  test('who type wrong codes of devices keep no device of the same network from asking for one', async () => {
    const { browser } = await person(t, `${base}/auth`);
    const { body: page } = await browser.open(`${base}/auth/device`);
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++)
      statuses.push((await browser.send(`${base}/auth/device`, { xsrf, user_code: 'BBBB-BBBB' })).status);
    assert.equal(statuses.at(-1), 429);
    const body = new URLSearchParams({ client_id: 'svc-cli', scope: 'openid' });
    assert.equal((await fetch(`${base}/auth/device/authorize`, { method: 'POST', body })).status, 200);
  });

  test('leave no rows for a month by opening pages, and not without end', async () => {
    const { sql } = t.gateway.kernel;
    const statuses: number[] = [];
    // Sixty a minute, of which one may end meanwhile.
    for (let i = 0; i < 130 && statuses.at(-1) !== 429; i++)
      statuses.push((await new PlayedBrowser().open(`${base}/auth/${i % 2 === 0 ? 'device' : 'logout'}`)).status);
    assert.deepEqual([...new Set(statuses)], [200, 429]);
    const [row] = await sql<{ long: number }[]>`
      select count(*)::int as long from auth.records
      where model = 'Session' and account_id is null and expires_at > now() + interval '2 hours'`;
    assert.equal(row?.long, 0);
  });
});
