import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { openPlatform, type Platform, PlayedBrowser, password, person, type Shown } from './auth.testing.ts';

const { problems } = wordsOf('en');

describe('a sign-in that another browser began', () => {
  let t: Platform;
  let base = '';
  before(async () => {
    t = await openPlatform();
    base = `http://localhost:${t.port}`;
  });
  after(() => t?.[Symbol.asyncDispose]());

  /** Somebody with an account, in a browser that nobody is signed in with. */
  const victim = async () => {
    const { email } = await person(t, `${base}/auth`);
    return { email, browser: new PlayedBrowser() };
  };
  const isRefused = ({ status, body, to }: Shown): void => {
    assert.deepEqual([status, to, body.includes(problems.expired)], [400, undefined, true], body);
  };
  /** Nobody is signed in with this browser, at the provider or at the hub. */
  const isNobody = async (browser: PlayedBrowser): Promise<void> => {
    const names = [...browser.cookies.keys()];
    assert.ok(!names.includes('__Host-svc_login'), names.join());
    assert.match((await browser.follow(`${base}/hub/login/start`)).url, /\/auth\/sign-in\//);
  };

  test('its page is refused with a sentence, whatever is sent to it, and goes on in its own browser', async () => {
    const { browser, email } = await victim();
    const page = await browser.follow(`${base}/hub/login/start`);
    const other = new PlayedBrowser();
    isRefused(await other.open(page.url));
    isRefused(await other.send(page.url, { email, password }));
    // One that has a sign-in of its own is no better off.
    await other.follow(`${base}/hub/login/start`);
    isRefused(await other.open(page.url));
    isRefused(await other.send(page.url, { email, password }));
    await isNobody(other);
    const done = await browser.follow(await browser.send(page.url, { email, password }));
    assert.deepEqual([done.url, browser.cookies.has('__Host-svc_login')], [`${base}/hub/`, true]);
  });

  for (const method of ['GET', 'HEAD']) {
    test(`a person who signs in with planted cookies gives who planted them nothing (${method})`, async () => {
      const attacker = new PlayedBrowser();
      const { browser, email } = await victim();
      const page = await attacker.follow(`${base}/hub/login/start`);
      const planted = [...attacker.cookies].filter(([name]) => name.startsWith('__Secure-svc_'));
      assert.deepEqual(
        planted.map(([name]) => name.replace(/(?:\.sig)?;.*$/, '')).filter((name, at, all) => all.indexOf(name) === at),
        ['__Secure-svc_interaction', '__Secure-svc_resume'],
      );
      for (const [name, cookie] of planted) browser.cookies.set(name, cookie);
      // The person signs in where the attacker led them.
      const signed = await browser.send(page.url, { email, password });
      const resume = signed.to ?? '';
      assert.match(resume, /\/auth\/authorize\//);
      const gained = await attacker.open(resume, { method });
      assert.deepEqual([gained.status, gained.to], [400, undefined]);
      await isNobody(attacker);
      // Their own browser goes on, to a hub that did not begin this: nobody is signed in there.
      const end = await browser.follow(resume);
      assert.ok(!browser.cookies.has('__Host-svc_login'), end.body);
      // A proof of another sign-in is none for this one.
      const again = await attacker.follow(`${base}/hub/login/start`);
      for (const [name, cookie] of attacker.cookies)
        if (name.startsWith('__Secure-svc_')) browser.cookies.set(name, cookie);
      browser.cookies.delete('__Host-svc_session');
      browser.cookies.delete('__Host-svc_session.sig');
      const mallory = await victim();
      const next = await browser.send(again.url, { email, password });
      const theirs = await mallory.browser.follow(`${base}/hub/login/start`);
      await mallory.browser.send(theirs.url, { email: mallory.email, password });
      const proof = mallory.browser.cookies.get('__Host-svc_proof');
      assert.ok(proof);
      attacker.cookies.set('__Host-svc_proof', proof);
      isRefused(await attacker.open(next.to ?? ''));
      await isNobody(attacker);
    });
  }

  test('a sign-in leads back to a path of the hub only, wherever it was asked to', async () => {
    const { browser, email } = await victim();
    for (const target of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example',
      '/%5c%5cevil.example/..//evil.example',
      'javascript:alert(1)',
      '/\t/evil.example',
      '@evil.example',
    ]) {
      const begun = await browser.follow(`${base}/hub/login/start?return_to=${encodeURIComponent(target)}`);
      const done = begun.url.includes('/sign-in/')
        ? await browser.follow(await browser.send(begun.url, { email, password }))
        : begun;
      assert.equal(new URL(done.url).origin, base, target);
      assert.ok(done.url.startsWith(`${base}/hub/`), done.url);
    }
  });
});
