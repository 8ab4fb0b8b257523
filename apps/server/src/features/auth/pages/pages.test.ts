import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { scopeNames } from '@svc/contract';
import { locales, scopeWords } from '@svc/words';
import { pageAssets } from './assets.ts';
import { consentPage, type ShownClient } from './consent.ts';
import { html } from './html.ts';
import { redirectPage } from './notes.ts';
import { calm, pagesOf, type Sample } from './pages.testing.ts';
import { signInPage } from './sign-in.ts';

const page = { locale: 'en', base: '/auth' } as const;

/** Closes every kind of context, and turns the direction of what follows. */
const attack = `"'><script>alert(1)</script><img src=x onerror=alert(2)>&lt;\u202e\u2066\u200f\u0000`;
const hostile: Sample = {
  email: attack,
  name: attack,
  host: attack,
  text: attack,
  value: attack,
  scopes: [attack, ...calm.scopes],
  href: `/auth/x?${attack.replaceAll('\0', '')}`,
  to: `https://x.example/${attack.replaceAll('\0', '')}`,
};

/** Tags with their attributes in quotes, as these pages write them; what is left over is text. */
const tag = /<\/?[a-z][a-z0-9]*(?: [a-zA-Z-]+(?:="[^"<>]*")?)*>|<!doctype html>/g;

describe('pages of sign-in', () => {
  test('hostile text in every field of every page stays text', () => {
    for (const locale of locales) {
      const expected = pagesOf({ locale, base: '/auth' }, { ...calm, scopes: ['?', ...calm.scopes] });
      for (const [name, document] of Object.entries(pagesOf({ locale, base: '/auth' }, hostile))) {
        const tags = document.match(tag) ?? [];
        const names = (list: readonly string[]) => list.map((one) => /^<[/!]?[a-z0-9]+/.exec(one)?.[0]);
        assert.deepEqual(names(tags), names(expected[name]?.match(tag) ?? []), `tags of ${name}`);
        assert.doesNotMatch(document.replace(tag, ''), /[<>"']/, `text of ${name}`);
        const attributes = tags.join('').replaceAll(/"[^"]*"/g, '');
        assert.doesNotMatch(attributes, / on[a-z]+=| style=/, name);
      }
    }
  });

  test('direction marks of strangers are shown, and values of hidden fields come back as they were', () => {
    const shown = pagesOf(page, hostile);
    const marks = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/;
    for (const [name, document] of Object.entries(shown)) {
      assert.doesNotMatch(
        document.replaceAll(/<input type="hidden"[^>]*>|<button[^>]*>|<code>[^<]*<\/code>/g, ''),
        marks,
        name,
      );
    }
    assert.match(shown['consent'] ?? '', /\[U\+202E\]\[U\+2066\]\[U\+200F\]/);
    assert.match(shown['signOut'] ?? '', /value="[^"]*\u202e\u2066\u200f/);
  });

  test('nothing is loaded from another host, and there is no script, style or handler inside', () => {
    for (const [name, document] of Object.entries(pagesOf(page, calm))) {
      const loaded = [...document.matchAll(/<(?:link|script|img|iframe|source)\b[^>]*?(?:href|src)="([^"]*)"/g)];
      for (const [, address = ''] of loaded) assert.match(address, /^(?:\/auth\/assets\/|data:image\/svg)/, name);
      assert.doesNotMatch(document, /<style|<script[^>]*>[^<]|javascript:/, name);
    }
    assert.doesNotMatch(pageAssets().get('/assets/style.css')?.().body.toString() ?? '', /url\(|@import/);
  });

  test('every page has a language, a title and one heading, and every field a label', () => {
    for (const locale of locales) {
      for (const [name, document] of Object.entries(pagesOf({ locale, base: '' }, calm))) {
        assert.match(document, new RegExp(`^<!doctype html>\\n<html lang="${locale}"`), name);
        assert.equal(document.match(/<h1>/g)?.length, 1, name);
        assert.match(document, /<title>[^<]+<\/title>/, name);
        for (const [, id = ''] of document.matchAll(/<input id="([^"]*)"/g))
          assert.ok(document.includes(`for="${id}"`));
        for (const [, ids = ''] of document.matchAll(/aria-describedby="([^"]*)"/g)) {
          for (const id of ids.split(' ')) assert.ok(document.includes(` id="${id}"`), `${name}: ${id}`);
        }
        assert.doesNotMatch(document, /undefined|null|\[object|>false|NaN/, name);
      }
    }
  });

  test('an address that would run code is refused', () => {
    for (const to of [
      'javascript:alert(1)',
      ' JaVa\nscript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'blob:x',
      'file:///x',
    ]) {
      assert.throws(() => redirectPage(page, { to }), TypeError, to);
    }
    assert.match(
      redirectPage(page, { to: 'com.example.app:/cb?code=1&s=2' }),
      /content="0;url=com\.example\.app:\/cb\?code=1&amp;s=2"/,
    );
    assert.match(redirectPage(page, { to: '/auth/authorize/abc' }), /href="\/auth\/authorize\/abc"/);
    assert.match(redirectPage(page, { to: 'http://127.0.0.1:4321/cb' }), /url=http:\/\/127\.0\.0\.1:4321\/cb"/);
  });

  test('a template escapes all values but its own markup', () => {
    const forged = { toString: () => '<b>' } as unknown as string;
    assert.equal(
      String(html`<p title="${'"'}">${html`<b>${'<'}</b>`}${undefined}${false}${['&', 1]}</p>`),
      '<p title="&quot;"><b>&lt;</b>&amp;1</p>',
    );
    assert.throws(() => html`${forged}`);
  });

  test('a passkey is offered by button where it works, by a link where it does not', () => {
    const given = { action: '', mailCode: false, recoverHref: '/recover', passkeyOptionsHref: '/options' };
    const here = signInPage(page, { ...given, passkeys: 'here' });
    const there = signInPage(page, { ...given, passkeys: { at: 'http://localhost:8080/auth/sign-in/x' } });
    assert.match(here, /data-passkey-get="\/options"/);
    assert.match(there, /<a href="http:\/\/localhost:8080\/auth\/sign-in\/x">localhost:8080<\/a>/);
    assert.doesNotMatch(there + signInPage(page, { ...given, passkeys: 'never' }), /data-passkey|<script/);
  });

  test('every scope of the contract has words in both languages, and a box of its own', () => {
    for (const locale of locales) {
      const unknown = scopeNames.filter((scope) => !scopeWords(scope, locale).isKnown);
      assert.deepEqual(unknown, [], locale);
    }
    const client = { name: 'x', trust: 'registered' } as const;
    const document = consentPage(page, { action: '', client, email: 'a@b.c', scopes: scopeNames, resource: 'mcp' });
    const boxes = [...document.matchAll(/type="checkbox" id="[^"]*" name="scope" value="([^"]*)"/g)];
    assert.deepEqual(new Set(boxes.map(([, scope]) => scope)), new Set(scopeNames));
    const headings = [...document.matchAll(/<legend>(\w+)/g)].map(([, heading]) => heading);
    assert.deepEqual(headings, ['Read', 'Change', 'Run']);
  });

  test('nothing that opens a terminal, makes keys or lets others in is ticked for an app, but for those of this product', () => {
    const ticked = (trust: ShownClient['trust']) => {
      const client = { name: 'x', trust };
      const shown = consentPage(page, { action: '', client, email: 'a@b.c', scopes: scopeNames, resource: 'api' });
      return new Set([...shown.matchAll(/name="scope" value="([^"]*)" checked/g)].map(([, scope]) => scope));
    };
    const shells = ['*', 'hosts', 'hosts:exec', 'environments', 'environments:terminal'];
    const byHand = [...shells, 'keys', 'accounts', 'notifications', 'transcripts'];
    const others = scopeNames.filter((scope) => !byHand.includes(scope));
    for (const trust of ['unknown', 'document', 'registered'] as const)
      assert.deepEqual(ticked(trust), new Set(others));
    assert.deepEqual(ticked('first-party'), new Set(scopeNames));
  });

  test('the script fits into 8 kB, and its tag changes with its bytes', () => {
    const script = pageAssets().get('/assets/sign-in.js')?.();
    assert.ok(script && script.body.length <= 8_192, `${script?.body.length} bytes`);
    assert.match(script.etag, /^"[\w-]{22}"$/);
    assert.doesNotMatch(script.body.toString(), /innerHTML|\binterface\b|import /);
  });
});
