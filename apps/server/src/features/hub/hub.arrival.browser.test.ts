import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { wordsOf } from '@svc/words';
import { en } from '../../../../hub/src/words/en.ts';
import { ro } from '../../../../hub/src/words/ro.ts';
import { noBrowser } from '../../testing.browser.ts';
import { http } from '../../testing.ts';
import { invited, password } from '../auth/auth.testing.ts';
import { go, HubTest } from './hub.testing.ts';

const texts = { en, ro };

describe('how people come to the hub', { skip: noBrowser }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open();
  });
  after(() => hub?.[Symbol.asyncDispose]());

  for (const locale of ['en', 'ro'] as const)
    test(`from the printed link to the first pinged monitor (${locale})`, async () => {
      const { t, origin } = hub;
      const { email, token } = await invited(t);
      const { fields, welcome, codes } = wordsOf(locale);
      const words = texts[locale];
      await using context = await hub.stranger(locale);
      const tab = await context.newPage();
      await tab.goto(`${origin}/auth/setup#${token}`);
      await tab.getByLabel(fields.email).fill(email);
      await tab.getByLabel(fields.password).fill(password);
      await tab.getByRole('button', { name: welcome.button, exact: true }).click();
      await tab.getByRole('link', { name: codes.next, exact: true }).click();
      await tab.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
      // The first steps lead on.
      await tab.locator('.steps').getByRole('link', { name: words.monitors.new, exact: true }).click();
      await tab.getByLabel(words.name, { exact: true }).fill('Backup');
      await tab.getByRole('button', { name: words.monitors.createAndCopy, exact: true }).click();
      await tab.getByText(words.monitors.waiting).waitFor();
      const address = (await tab.locator('.copy-text pre').first().textContent()) ?? '';
      await http(t.gateway.url, new URL(address).pathname, { method: 'POST' });
      await tab.getByText(words.monitors.firstPing).waitFor();
      // What is done is no step any more.
      await go(tab, '/');
      await tab.getByRole('heading', { name: words.now.stepMachine, exact: true }).waitFor();
      await tab.getByRole('heading', { name: words.now.stepMonitor, exact: true }).waitFor({ state: 'detached' });
    });

  test('a phone that scans the code is let in by the number that the laptop picks: two taps', async () => {
    await using laptop = await hub.person('en', 'screen');
    const { tab, words, check } = laptop;
    await go(tab, '/me');
    const link = tab.waitForResponse((answer) => answer.url().endsWith('/v1/me/links'));
    await tab.getByRole('button', { name: words.me.addPhone, exact: true }).click();
    const { url } = (await (await link).json()) as { url: string };
    await using context = await hub.stranger('en');
    const phone = await context.newPage();
    await phone.goto(url);
    const number = (await phone.locator('.user-code').textContent())?.trim() ?? '';
    await tab.getByRole('dialog').getByRole('button', { name: number, exact: true }).click();
    await tab.getByText(words.me.phoneIn).waitFor();
    await phone.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
    // The secret of the link stands in no address.
    const token = new URL(url).hash.slice(1);
    assert.ok(token.length > 20 && !phone.url().includes(token));
    check();
  });
});
