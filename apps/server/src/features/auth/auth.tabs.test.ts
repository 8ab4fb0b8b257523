import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { openPlatform, password, person, type Platform, PlayedBrowser } from './auth.testing.ts';

describe('two tabs of a browser in which an app is let in at the same instant', () => {
  let t: Platform;
  let base: string;
  before(async () => {
    t = await openPlatform();
    base = `http://localhost:${t.port}`;
  });
  after(() => t[Symbol.asyncDispose]());

  const redirectUri = 'http://127.0.0.1:4711/callback';
  const isEnd = (to: string): boolean => to.startsWith(redirectUri);
  const address = (scope: string): string => {
    const query = new URLSearchParams({
      client_id: 'svc-cli',
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: `openid ${scope}`,
      resource: base,
      state: scope,
      code_challenge: createHash('sha256').update(randomBytes(32).toString('base64url')).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return `${base}/auth/authorize?${query.toString()}`;
  };
  const allow = (browser: PlayedBrowser, url: string, scope: string) =>
    browser.send(url, [
      ['scope', scope],
      ['decision', 'allow'],
    ]);
  const scopes = ['keys', 'hosts:read'] as const;

  test('each gets its code, and the browser stays signed in', async () => {
    const { browser } = await person(t, `${base}/auth`);
    const pages = [];
    for (const scope of scopes) pages.push(await browser.follow(address(scope), isEnd));
    const decided = [];
    for (const [at, scope] of scopes.entries()) decided.push(await allow(browser, pages[at]?.url ?? '', scope));
    // The second one is on its way when the answer to the first has not come: it brings the cookies of before.
    const second = new PlayedBrowser();
    for (const [name, cookie] of browser.cookies) second.cookies.set(name, cookie);
    const ends = [await browser.open(decided[0]?.to ?? ''), await second.open(decided[1]?.to ?? '')];
    for (const [name, cookie] of second.cookies) browser.cookies.set(name, cookie);
    const codes = ends.map(({ to, body }) =>
      to ? new URL(to).searchParams.has('code') : body.replace(/<[^>]*>/g, ''),
    );
    assert.deepEqual(codes, [true, true]);
    const again = await browser.follow(`${base}/hub/login/start`);
    assert.equal(again.url, `${base}/hub/`);
  });

  test('a copy of its cookie is worth nothing once its person proved anew who they are', async () => {
    const { browser, email } = await person(t, `${base}/auth`);
    const copy = new PlayedBrowser();
    for (const [name, cookie] of browser.cookies)
      if (name.startsWith('__Host-svc_session')) copy.cookies.set(name, cookie);
    const page = await browser.follow(`${address('keys')}&prompt=login`, isEnd);
    await browser.follow(await browser.send(page.url, { email, password }), isEnd);
    assert.match((await copy.follow(`${base}/hub/login/start`)).url, /\/sign-in\//);
  });
});
