import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { locales } from '@svc/words';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser, noBrowser } from '../../../testing.browser.ts';
import { pageAssets } from './assets.ts';
import { redirectPage } from './notes.ts';
import { calm, pagesOf } from './pages.testing.ts';
import { signInPage } from './sign-in.ts';
import { tokenPage, welcomePage } from './start.ts';

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const base = '/auth';
const assets = pageAssets();

/** What a page lacks that people need, found in the page itself. */
function faultsOf(): string[] {
  const at = globalThis as any;
  const all = (selector: string): any[] => [...at.document.querySelectorAll(selector)];
  const isShown = (element: any): boolean => element.checkVisibility() && element.getClientRects().length > 0;
  const name = (element: any): string =>
    `${element.tagName} ${element.name ?? ''} ${(element.textContent ?? '').trim().slice(0, 40)}`;
  const canvas = at.document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  // A page has few colors, and the canvas is slow.
  const known = new Map<string, number[]>();
  const channels = (color: string): number[] => {
    const before = known.get(color);
    if (before) return before;
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const found: number[] = [...canvas.getImageData(0, 0, 1, 1).data];
    known.set(color, found);
    return found;
  };
  const light = (color: string): number => {
    const [r = 0, g = 0, b = 0] = channels(color).map((one) => {
      const part = one / 255;
      return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element: any): string => {
    for (let one = element; one; one = one.parentElement) {
      const color = at.getComputedStyle(one).backgroundColor;
      if ((channels(color)[3] ?? 0) === 255) return color;
    }
    return 'white';
  };
  const contrast = (element: any): number => {
    const [more = 0, less = 0] = [light(at.getComputedStyle(element).color), light(behind(element))].sort(
      (a, b) => b - a,
    );
    return (more + 0.05) / (less + 0.05);
  };
  const hasText = (element: any): boolean =>
    [...element.childNodes].some((node: any) => node.nodeType === 3 && node.data.trim() !== '');
  const faults: string[] = [];
  if (at.document.documentElement.scrollWidth > at.innerWidth)
    faults.push(`${at.document.documentElement.scrollWidth} px wide`);
  for (const element of all('body *').filter(isShown)) {
    if ((hasText(element) || element.matches('input')) && contrast(element) < 4.5) {
      faults.push(`contrast ${contrast(element).toFixed(2)}: ${name(element)}`);
    }
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && !element.matches('input'))
      faults.push(`cut: ${name(element)}`);
  }
  for (const target of all('a, button, summary, input:not([type=hidden], [type=checkbox]), label.check').filter(
    isShown,
  )) {
    const { height, width } = target.getBoundingClientRect();
    if (height < 44 || width < 44) faults.push(`target ${width} x ${height}: ${name(target)}`);
  }
  for (const input of all('input:not([type=hidden])'))
    if (input.labels.length !== 1) faults.push(`label: ${name(input)}`);
  const ids = all('[id]').map(({ id }) => id);
  if (new Set(ids).size !== ids.length) faults.push('an id stands twice');
  return faults;
}

/** Each color scheme at each size, in the order with the fewest changes. */
const looks = [
  ['light', 320, 640],
  ['light', 390, 844],
  ['light', 1280, 800],
  ['dark', 1280, 800],
  ['dark', 390, 844],
  ['dark', 320, 640],
] as const;

describe('pages in a browser', { skip: noBrowser }, () => {
  /** What the server answers, by path; what was posted to it. */
  const shown = new Map<string, string>();
  const posted: { url: string; body: URLSearchParams }[] = [];
  const asked: unknown[] = [];
  const violations: string[] = [];
  let options: object = {};
  const answer = async (request: IncomingMessage): Promise<[number, string, Buffer | string]> => {
    const url = request.url ?? '';
    const asset = assets.get(url.slice(base.length))?.();
    if (asset) return [200, asset.type, asset.body];
    const body = await text(request);
    if (url === '/options') {
      asked.push(JSON.parse(body));
      return [200, 'application/json', JSON.stringify(options)];
    }
    if (request.method === 'POST') posted.push({ url, body: new URLSearchParams(body) });
    const page = shown.get(request.method === 'POST' ? `POST ${url}` : (url.split('?')[0] ?? ''));
    return [page === undefined ? 404 : 200, 'text/html; charset=utf-8', page ?? '<!doctype html><title>none</title>'];
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, type, body]) =>
      response.writeHead(status, { 'content-type': type, 'content-security-policy': policy }).end(body),
    );
  });
  let chrome: Browser;
  let origin = '';
  /** A folder for pictures of every page, to look at. */
  const pictures = process.env['SVC_TEST_PICTURES'];

  before(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    chrome = await launchBrowser();
  });
  after(async () => {
    await chrome?.close();
    server.closeAllConnections();
    server.close();
  });

  const open = async (context: BrowserContext): Promise<Page> => {
    const tab = await context.newPage();
    const note = (message: string) =>
      /Content.Security.Policy|Trusted|Error/i.test(message) && violations.push(message);
    tab.on('console', (message) => note(message.text()));
    tab.on('pageerror', (error) => violations.push(String(error)));
    return tab;
  };
  /** Opens a page and resolves with what it posts to `/next` after an act. */
  const postOf = async (
    tab: Page,
    document: string,
    act: () => Promise<unknown>,
    path = '/page',
  ): Promise<URLSearchParams> => {
    shown.set('/page', document).set('POST /next', '<!doctype html><title>next</title>');
    const before = posted.length;
    await tab.goto(`${origin}${path}`);
    await act();
    await tab.waitForURL(`${origin}/next`);
    assert.deepEqual([posted.length - before, violations.splice(0)], [1, []]);
    return posted.at(-1)?.body ?? new URLSearchParams();
  };

  for (const locale of locales) {
    test(`every page can be read and used: ${locale}, light and dark, phone and screen`, async () => {
      await using context = await chrome.newContext();
      const tab = await open(context);
      const pages = Object.entries(pagesOf({ locale, base }, { ...calm, to: `/done`, href: '/done' }));
      for (const [name, document] of pages) {
        shown.set(`/${name}`, document);
        if (name === 'redirect') continue;
        await tab.goto(`${origin}/${name}`);
        for (const [colorScheme, width, height] of looks) {
          await tab.emulateMedia({ colorScheme });
          await tab.setViewportSize({ width, height });
          assert.deepEqual(await tab.evaluate(faultsOf), [], `${name} at ${width}, ${colorScheme}`);
          if (width === 320 || pictures === undefined) continue;
          const path = join(pictures, `${name}.${locale}.${colorScheme}.${width}.png`);
          await tab.screenshot({ path, fullPage: true });
        }
      }
      assert.deepEqual(violations.splice(0), []);
    });
  }

  const given = { action: '/next', recoverHref: '/recover', passkeyOptionsHref: '/options', mailCode: true } as const;
  const english = { locale: 'en', base } as const;

  test('the checks of these tests see what is wrong', async () => {
    await using context = await chrome.newContext();
    const tab = await open(context);
    shown.set(
      '/bad',
      '<!doctype html><a href="/">x</a><p><font color="#999">pale</font></p><input><pre>'.concat('x'.repeat(999)),
    );
    await tab.goto(`${origin}/bad`);
    const found = (await tab.evaluate(faultsOf)).join('\n');
    for (const fault of [/px wide/, /contrast 2/, /target/, /label/]) assert.match(found, fault);
  });

  test('sign-in needs no script: Enter signs in, and the second button asks for a code', async () => {
    await using context = await chrome.newContext({ javaScriptEnabled: false });
    const tab = await open(context);
    const page = signInPage(english, { ...given, passkeys: 'here' });
    const signedIn = await postOf(tab, page, async () => {
      await tab.getByLabel('Email').fill('ana@example.org');
      await tab.getByLabel('Password').fill('correct horse battery');
      assert.equal(await tab.getByRole('button', { name: 'Use a passkey' }).isVisible(), false);
      await tab.getByLabel('Password').press('Enter');
    });
    assert.deepEqual(
      [signedIn.get('email'), signedIn.get('password'), signedIn.get('way')],
      ['ana@example.org', 'correct horse battery', null],
    );
    const mailed = await postOf(tab, page, async () => {
      await tab.getByLabel('Email').fill('ana@example.org');
      await tab.getByRole('button', { name: 'Mail me a code' }).click();
    });
    assert.deepEqual([mailed.get('email'), mailed.get('way')], ['ana@example.org', 'mail']);
  });

  test('a link posts its token, and the address and the history forget it', async () => {
    await using context = await chrome.newContext();
    const tab = await open(context);
    const body = await postOf(
      tab,
      tokenPage(english, { action: '/next', purpose: 'setup' }),
      async () => {},
      '/page#tok_En-1.~2',
    );
    assert.equal(body.get('token'), 'tok_En-1.~2');
    const devtools = await context.newCDPSession(tab);
    const { entries } = await devtools.send('Page.getNavigationHistory');
    assert.ok(entries.length > 0 && entries.every(({ url }) => !url.includes('tok_')), JSON.stringify(entries));
    await using plain = await chrome.newContext({ javaScriptEnabled: false });
    const other = await open(plain);
    const typed = await postOf(other, tokenPage(english, { action: '/next', purpose: 'invite' }), async () => {
      await other.getByLabel('Code from your link').fill('abc');
      await other.getByRole('button', { name: 'Continue' }).click();
    });
    assert.equal(typed.get('token'), 'abc');
  });

  test('after a form, the browser is sent to another site under the policy', async () => {
    await using context = await chrome.newContext();
    const tab = await open(context);
    const there = origin.replace('localhost', '127.0.0.1');
    shown.set('/page', signInPage(english, { ...given, passkeys: 'never' }));
    shown.set('POST /next', redirectPage(english, { to: `${there}/callback?code=a&state=%22%3E` }));
    await tab.goto(`${origin}/page`);
    await tab.getByLabel('Email').fill('ana@example.org');
    await tab.getByLabel('Password').fill('x');
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.waitForURL(`${there}/callback?code=a&state=%22%3E`);
    assert.deepEqual(violations.splice(0), []);
  });

  const challenge = Buffer.from('a challenge of the server').toString('base64url');
  const authenticator = async (context: BrowserContext, tab: Page) => {
    const devtools = await context.newCDPSession(tab);
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
    return { devtools, authenticatorId };
  };
  /** Takes away what newer browsers do by themselves. */
  const older = () => {
    const { PublicKeyCredential: passkeys } = globalThis as any;
    delete passkeys.parseCreationOptionsFromJSON;
    delete passkeys.parseRequestOptionsFromJSON;
    delete passkeys.prototype.toJSON;
    passkeys.isConditionalMediationAvailable = async () => false;
  };
  const clientData = (credential: any) =>
    JSON.parse(Buffer.from(credential.response.clientDataJSON, 'base64url').toString());

  for (const kind of ['newer', 'older'] as const) {
    test(`a passkey is made and signs in, in a ${kind} browser`, async () => {
      await using context = await chrome.newContext();
      const tab = await open(context);
      if (kind === 'older') await tab.addInitScript(older);
      const { devtools, authenticatorId } = await authenticator(context, tab);
      options = {
        challenge_id: 'ch_1',
        challenge,
        rp: { id: 'localhost', name: 'svc' },
        user: {
          id: Buffer.from('account 1').toString('base64url'),
          name: 'owner@localhost',
          displayName: 'owner@localhost',
        },
        pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
        excludeCredentials: [{ type: 'public-key', id: Buffer.from('another').toString('base64url') }],
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      };
      asked.length = 0;
      const page = {
        action: '/next',
        purpose: 'setup',
        emailFixed: false,
        passkeys: 'here',
        passkeyOptionsHref: '/options',
        carry: 'carried',
      } as const;
      const made = await postOf(tab, welcomePage(english, page), async () => {
        const button = tab.getByRole('button', { name: 'Create a passkey' });
        // Without an address nothing is asked for.
        await button.click();
        assert.deepEqual(asked, []);
        await tab.getByLabel('Email').fill('ana@example.org');
        await button.click();
      });
      const credential = JSON.parse(made.get('passkey') ?? '');
      assert.deepEqual(asked, [{ carry: 'carried' }]);
      assert.deepEqual(
        [made.get('challenge'), made.get('carry'), made.get('email')],
        ['ch_1', 'carried', 'ana@example.org'],
      );
      assert.deepEqual([clientData(credential).type, clientData(credential).challenge], ['webauthn.create', challenge]);
      assert.deepEqual([credential.type, credential.response.transports], ['public-key', ['internal']]);
      assert.ok(credential.rawId === credential.id && credential.response.attestationObject);

      const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
      assert.deepEqual([credentials.length, credentials[0]?.userName], [1, 'ana@example.org']);

      options = { challenge_id: 'ch_2', challenge, rpId: 'localhost', allowCredentials: [] };
      const document = signInPage(english, { ...given, passkeys: 'here' });
      // Chromium fills in the passkey of its test device by itself; without one it waits until the button is pressed.
      if (kind === 'newer') await devtools.send('WebAuthn.clearCredentials', { authenticatorId });
      const used = await postOf(tab, document, async () => {
        const button = tab.getByRole('button', { name: 'Use a passkey' });
        await button.click();
        if (kind === 'older') return;
        await tab.getByText('No passkey was used.').waitFor();
        assert.equal(await button.isEnabled(), true);
        for (const credential of credentials) {
          await devtools.send('WebAuthn.addCredential', { authenticatorId, credential });
        }
        await button.click();
      });
      const proof = JSON.parse(used.get('passkey') ?? '');
      assert.deepEqual([used.get('challenge'), used.get('email'), proof.id], ['ch_2', '', credential.id]);
      assert.deepEqual([clientData(proof).type, clientData(proof).challenge], ['webauthn.get', challenge]);
      assert.ok(proof.response.signature && proof.response.authenticatorData);
      assert.equal(Buffer.from(proof.response.userHandle, 'base64url').toString(), 'account 1');
      if (kind === 'older') return;
      const filled = await postOf(tab, document, async () => {});
      assert.deepEqual([filled.get('challenge'), JSON.parse(filled.get('passkey') ?? '').id], ['ch_2', credential.id]);
    });
  }
});
