import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { testClock } from '../../kernel/base/clock.ts';
import { inTransaction } from '../../kernel/db/db.ts';
import { http, until } from '../../testing.ts';
import { waitingFor } from '../../testing.locks.ts';
import { headersOf } from '../me/me.testing.ts';
import { openPlatform, password, person, PlayedBrowser } from '../auth/auth.testing.ts';

/** The cookies of its sign-ins that are under way. */
const flowsOf = ({ cookies }: PlayedBrowser): string[] =>
  [...cookies.keys()].filter((name) => name.startsWith('__Host-svc_flow-'));

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

test('two tabs that sign in at once both come in, and a sign-in that is over ends no other one', async () => {
  await using t = await openPlatform();
  const base = `http://localhost:${t.port}`;
  const { email } = await person(t, `${base}/auth`);
  const browser = new PlayedBrowser();
  const begin = (to: string) => browser.follow(`${base}/hub/login/start?return_to=${to}`);
  const tabs = [await begin('/prompts'), await begin('/keys')];
  assert.equal(flowsOf(browser).length, 2);
  const failed = await browser.open(`${base}/hub/callback?state=nobodys&code=x`);
  assert.deepEqual([failed.status, flowsOf(browser).length], [400, 2]);
  const isHub = (url: string): boolean => /\/hub\/(?!callback)/.test(url);
  const ends = [];
  for (const { url } of tabs) ends.push(await browser.follow(await browser.send(url, { email, password }), isHub));
  assert.deepEqual(
    ends.map(({ to }) => to),
    [`${base}/hub/prompts`, `${base}/hub/keys`],
  );
  assert.deepEqual(flowsOf(browser), []);
  // Gone back to: the code was used, but the browser is signed in.
  const again = await browser.open(ends[1]?.url ?? '');
  assert.deepEqual([again.status, again.to], [200, `${base}/hub/`]);
});

test('a browser keeps four sign-ins that are under way at most, and always the newest', async () => {
  await using t = await openPlatform();
  const base = `http://localhost:${t.port}`;
  const browser = new PlayedBrowser();
  const counts = [];
  for (let tab = 0; tab < 6; tab += 1) {
    const before = new Set(flowsOf(browser));
    const { status } = await browser.open(`${base}/hub/login/start`);
    const kept = flowsOf(browser);
    counts.push([status, kept.length, kept.filter((name) => !before.has(name)).length]);
  }
  assert.deepEqual(
    counts,
    [1, 2, 3, 4, 4, 4].map((count) => [303, count, 1]),
  );
});

test('a sign-in that begins while a machine that slept renews its lease waits for it', async () => {
  const clock = testClock();
  await using t = await openPlatform(undefined, { clock });
  const { sql } = t.gateway.kernel;
  let begun: Promise<{ status: number }> | undefined;
  await inTransaction(sql, async (tx) => {
    await tx`lock table kernel.gateways in exclusive mode`;
    clock.leap(60_000);
    await until(async () => (await waitingFor(tx, 'kernel.gateways')) > 0);
    begun = new PlayedBrowser().open(`http://localhost:${t.port}/hub/login/start`);
    assert.equal(await Promise.race([begun.then(({ status }) => status), delay(200, 'waits')]), 'waits');
  });
  assert.equal((await begun)?.status, 303);
});
