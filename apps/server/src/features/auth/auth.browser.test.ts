import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Locale, wordsOf } from '@svc/words';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { en } from '../../../../hub/src/words/en.ts';
import { ro } from '../../../../hub/src/words/ro.ts';
import { launchBrowser, noBrowser, turn } from '../../testing.browser.ts';
import { invited, openPlatform, type Platform, password } from './auth.testing.ts';

describe('signing in with a browser', { skip: noBrowser }, () => {
  let t: Platform;
  let chrome: Browser;
  let origin = '';
  /** A folder for pictures of every page, to look at. */
  const pictures = process.env['SVC_TEST_PICTURES'];

  before(async () => {
    t = await openPlatform();
    origin = `http://localhost:${t.port}`;
    chrome = await launchBrowser();
  });
  after(async () => {
    await chrome?.close();
    await t?.[Symbol.asyncDispose]();
  });

  /** A person's browser, with all that it asked for and everything that a page was refused. */
  const openBrowser = async (locale: Locale, options: { javaScriptEnabled?: boolean } = {}) => {
    const context = await chrome.newContext({ locale, serviceWorkers: 'block', ...options });
    const asked: string[] = [];
    const refused: string[] = [];
    context.on('request', (request) => asked.push(request.url()));
    context.on('console', (message) => {
      if (/content security policy|trusted ?type|refused to/i.test(message.text())) refused.push(message.text());
    });
    await context.exposeBinding('reportRefused', (_source, text: string) => void refused.push(text));
    await context.addInitScript(() => {
      const page = globalThis as any;
      page.document.addEventListener('securitypolicyviolation', (event: any) =>
        page.reportRefused(`${event.violatedDirective} ${event.blockedURI}`),
      );
    });
    const tab = await context.newPage();
    const devtools = await context.newCDPSession(tab);
    const hasScript = options.javaScriptEnabled ?? true;
    return { context, tab, devtools, asked, refused, hasScript, [Symbol.asyncDispose]: () => context.close() };
  };
  type Person = Awaited<ReturnType<typeof openBrowser>>;

  const historyOf = async (devtools: CDPSession): Promise<string[]> => {
    const { entries } = await devtools.send('Page.getNavigationHistory');
    return entries.map(({ url }) => url);
  };

  /** No page of the journey was refused anything, or asked another origin; the token is in no address. */
  const checkTraces = ({ asked, refused }: Person, token: string, origins = [origin]): void => {
    assert.deepEqual(refused, []);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith('data:') && !origins.includes(new URL(url).origin)),
      [],
    );
    assert.deepEqual(
      asked.filter((url) => url.split('#')[0]?.includes(token)),
      [],
    );
    assert.ok(asked.length > 5);
  };

  const shoot = async (tab: Page, name: string): Promise<void> => {
    if (pictures !== undefined) await tab.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  };

  const addAuthenticator = async (devtools: CDPSession): Promise<string> => {
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return authenticatorId;
  };

  const cookieOf = async (context: BrowserContext) =>
    (await context.cookies()).find(({ name }) => name === '__Host-svc_login');

  /** The page of a signed-in person; the cookie that goes with it. */
  const checkSignedIn = async ({ tab, context, hasScript }: Person, locale: Locale, email: string, at = origin) => {
    await tab.waitForURL(`${at}/hub/`);
    assert.equal(await tab.locator('html').getAttribute('lang'), locale);
    if (hasScript) {
      await tab.getByRole('heading', { name: { en: en.nav.now, ro: ro.nav.now }[locale], exact: true }).waitFor();
      const me = await tab.evaluate(async () => (await fetch('/v1/me')).json());
      assert.equal((me as { account: { email: string } }).account.email, email);
    } else assert.ok((await tab.content()).includes(wordsOf(locale).hub.needsScript));
    const cookie = await cookieOf(context);
    assert.deepEqual([cookie?.httpOnly, cookie?.secure, cookie?.sameSite], [true, true, 'Strict']);
  };

  /** Signs out, and opens the hub once more. */
  const endLogin = async ({ tab, hasScript }: Person, locale: Locale): Promise<void> => {
    if (hasScript) {
      await turn(tab, '/me');
      await tab
        .getByRole('button', { name: { en: en.signOut, ro: ro.signOut }[locale], exact: true })
        .first()
        .click();
      return;
    }
    await tab.goto(`${origin}/auth/logout`);
    await tab.getByRole('button', { name: wordsOf(locale).signOut.button, exact: true }).click();
    await tab.goto(`${origin}/hub/login/start`);
  };

  const signOut = async (person: Person, locale: Locale): Promise<void> => {
    const { tab, context } = person;
    await endLogin(person, locale);
    await tab.getByRole('heading', { name: wordsOf(locale).signIn.title, exact: true }).waitFor();
    // The provider ends the login; the cookie of it stays, and opens nothing.
    if (person.hasScript) assert.equal(await cookieOf(context), undefined);
  };

  const signInByPassword = async ({ tab }: Person, locale: Locale, email: string): Promise<void> => {
    const { fields, signIn } = wordsOf(locale);
    await tab.getByLabel(fields.email).fill(email);
    await tab.getByLabel(fields.password).fill(password);
    await tab.getByRole('button', { name: signIn.button, exact: true }).click();
  };

  /** Opens the link and comes to the page that asks for a way to sign in. */
  const openLink = async ({ tab }: Person, locale: Locale, token: string, at = origin): Promise<void> => {
    await tab.goto(`${at}/auth/setup#${token}`);
    await tab.getByRole('heading', { name: wordsOf(locale).welcome.setup.title, exact: true }).waitFor();
  };

  /** The recovery codes are there; goes on from them. */
  const takeCodes = async ({ tab }: Person, locale: Locale): Promise<string[]> => {
    const { codes } = wordsOf(locale);
    await tab.getByRole('heading', { name: codes.title, exact: true }).waitFor();
    const shown = await tab.locator('ol.codes code').allTextContents();
    assert.equal(new Set(shown).size, 10);
    const coming = tab.waitForEvent('download');
    await tab.getByRole('link', { name: codes.download, exact: true }).click();
    const file = await (await (await coming).createReadStream()).toArray();
    assert.equal(Buffer.concat(file).toString(), `${shown.join('\n')}\n`);
    await tab.getByRole('link', { name: codes.next, exact: true }).click();
    return shown;
  };

  for (const locale of ['en', 'ro'] as const) {
    for (const javaScriptEnabled of [true, false]) {
      const how = javaScriptEnabled ? '' : ', without script';
      test(`a link, a password, and signed in; out, and in again (${locale}${how})`, async () => {
        await using person = await openBrowser(locale, { javaScriptEnabled });
        const { tab, devtools } = person;
        const { email, token } = await invited(t);
        const { fields, welcome, token: tokenWords } = wordsOf(locale);
        if (javaScriptEnabled) await openLink(person, locale, token);
        else {
          await tab.goto(`${origin}/auth/setup`);
          await shoot(tab, `token.${locale}`);
          await tab.getByLabel(fields.token).fill(token);
          await tab.getByRole('button', { name: tokenWords.button, exact: true }).click();
        }
        await tab.getByLabel(fields.email).fill(email);
        await tab.getByLabel(fields.password).fill(password);
        await shoot(tab, `welcome.${locale}.${javaScriptEnabled}`);
        await tab.getByRole('button', { name: welcome.button, exact: true }).click();
        await takeCodes(person, locale);
        await checkSignedIn(person, locale, email);
        await shoot(tab, `home.${locale}.${javaScriptEnabled}`);
        await signOut(person, locale);
        await shoot(tab, `sign-in.${locale}.${javaScriptEnabled}`);
        await signInByPassword(person, locale, email);
        await checkSignedIn(person, locale, email);
        checkTraces(person, token);
        const history = await historyOf(devtools);
        assert.ok(history.length > 3 && !history.some((url) => url.includes(token)), history.join('\n'));
      });
    }

    test(`a link, a passkey, and signed in; out, and in again by button and by autofill (${locale})`, async () => {
      await using person = await openBrowser(locale);
      const { tab, devtools } = person;
      const { email, token } = await invited(t);
      const { fields, welcome, signIn } = wordsOf(locale);
      await addAuthenticator(devtools);
      await openLink(person, locale, token);
      await tab.getByLabel(fields.email).fill(email);
      await shoot(tab, `welcome.passkey.${locale}`);
      await tab.getByRole('button', { name: welcome.passkey, exact: true }).click();
      await takeCodes(person, locale);
      await checkSignedIn(person, locale, email);
      // A device with a passkey fills it in by itself as soon as the page is there: the button is tried without that.
      const withoutAutofill = () => {
        const page = globalThis as any;
        if (page.sessionStorage.getItem('autofill') === null)
          page.PublicKeyCredential.isConditionalMediationAvailable = async () => false;
      };
      await tab.addInitScript(withoutAutofill);
      await signOut(person, locale);
      await shoot(tab, `sign-in.passkey.${locale}`);
      await tab.getByRole('button', { name: signIn.passkey, exact: true }).click();
      await checkSignedIn(person, locale, email);
      // Autofill: nothing is pressed.
      await tab.evaluate(() => (globalThis as any).sessionStorage.setItem('autofill', 'on'));
      const asked = tab.waitForRequest((request) => /\/sign-in\//.test(request.url()) && request.method() === 'POST');
      await endLogin(person, locale);
      await asked;
      await checkSignedIn(person, locale, email);
      checkTraces(person, token);
      assert.ok(!(await historyOf(devtools)).some((url) => url.includes(token)));
    });
  }

  test('a link and the hub at 127.0.0.1 open at localhost, where passkeys work and who signed in is known', async () => {
    await using person = await openBrowser('en');
    const { tab, devtools } = person;
    const here = `http://127.0.0.1:${t.port}`;
    const { email, token } = await invited(t);
    const { welcome, fields } = wordsOf('en');
    await addAuthenticator(devtools);
    await openLink(person, 'en', token, here);
    await tab.waitForURL(`${origin}/auth/setup`);
    await tab.getByLabel(fields.email).fill(email);
    await tab.getByRole('button', { name: welcome.passkey, exact: true }).click();
    await takeCodes(person, 'en');
    await checkSignedIn(person, 'en', email);
    await tab.goto(`${here}/hub/`);
    await tab.waitForURL(`${origin}/hub/`);
    await checkSignedIn(person, 'en', email);
    checkTraces(person, token, [origin, here]);
    assert.ok(!(await historyOf(devtools)).some((url) => url.includes(token)));
  });

  test('a link works once: in another browser, and in the same one, it is refused with a sentence', async () => {
    await using first = await openBrowser('en');
    await using second = await openBrowser('ro');
    const { email, token } = await invited(t);
    const { fields, welcome } = wordsOf('en');
    await openLink(first, 'en', token);
    // Both have the page open; one is quicker.
    await openLink(second, 'ro', token);
    await first.tab.getByLabel(fields.email).fill(email);
    await first.tab.getByLabel(fields.password).fill(password);
    await first.tab.getByRole('button', { name: welcome.button, exact: true }).click();
    await takeCodes(first, 'en');
    await checkSignedIn(first, 'en', email);
    const late = wordsOf('ro');
    await second.tab.getByLabel(late.fields.email).fill(email);
    await second.tab.getByLabel(late.fields.password).fill(password);
    await second.tab.getByRole('button', { name: late.welcome.button, exact: true }).click();
    await second.tab.getByText(late.message.usedText).waitFor();
    await shoot(second.tab, 'over');
    for (const { tab, words } of [
      { ...first, words: wordsOf('en') },
      { ...second, words: late },
    ]) {
      await tab.goto(`${origin}/auth/setup#${token}`);
      await tab.getByText(words.message.usedText).waitFor();
    }
    assert.equal(await cookieOf(second.context), undefined);
    for (const one of [first, second]) checkTraces(one, token);
  });
});
