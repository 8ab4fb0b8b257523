import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Route } from 'playwright-core';
import { noBrowser, turn } from '../../testing.browser.ts';
import { checkLooks, go, HubTest, type Opened } from './hub.testing.ts';

const id = randomUUID();
/** Pages that show an answer of the API, those of one record among them. */
const paths = [
  '/notifications',
  `/notifications/${id}`,
  '/heartbeats',
  `/heartbeats/${id}`,
  '/schedules',
  `/schedules/${id}`,
  '/schedule-runs',
  `/schedule-runs/${id}`,
  '/machines',
  `/machines/${id}`,
  '/sandboxes',
  `/sandboxes/${id}`,
  '/prompts',
  `/prompts/${id}`,
  '/sessions',
  `/sessions/${id}`,
  '/transcripts',
  `/transcripts/${id}`,
  '/environments',
  `/environments/${id}`,
  '/keys',
  `/keys/${id}`,
  '/connections',
  '/notifications/settings',
  '/me/usage',
];

/** `SVC_TEST_LOOKS=all` for every page in both ways; else each state of a page in one of them. */
const pathsOf = (way: number): string[] =>
  process.env['SVC_TEST_LOOKS'] === 'all' ? paths : paths.filter((_, at) => at % 2 === way);

/** Answers of the server, as a browser may get them. */
const failing = (status: number, code: string, message: string) => (route: Route) =>
  route.fulfill({
    status,
    headers: { 'content-type': 'application/json', 'x-svc-trace-id': 'trace-of-this' },
    body: JSON.stringify({ error: { message, type: 'api_error', code } }),
  });

describe('the states of a page of the hub', { skip: noBrowser }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open();
  });
  after(() => hub?.[Symbol.asyncDispose]());

  /** Everything below `/v1` but who is signed in and the stream. */
  const answers = /\/v1\/(?!me$|me\?|events)/;
  const looks = ({ tab }: Opened, name: string): Promise<void> => checkLooks(tab, `state.${name.replace(id, 'one')}`);

  for (const [way, locale, size, colorScheme] of [
    [0, 'en', 'phone', 'dark'],
    [1, 'ro', 'screen', 'light'],
  ] as const) {
    test(`loading: grey rows of what comes, on every page (${locale}, ${size})`, async () => {
      await using opened = await hub.person(locale, size, { colorScheme });
      const { tab, words, check } = opened;
      // It asks, and hears nothing.
      await tab.route(answers, () => {});
      for (const path of pathsOf(way)) {
        await turn(tab, path);
        await tab.locator('.ghost').locator('visible=true').first().waitFor();
        assert.ok(await tab.getByText(words.states.loading).first().isVisible());
        await looks(opened, `loading.${path}.${colorScheme}`);
      }
      check();
    });

    test(`a server that fails: our words, its trace, and another try that helps, on every page (${locale}, ${size})`, async () => {
      await using opened = await hub.person(locale, size, { colorScheme });
      const { tab, words, check } = opened;
      await tab.route(answers, failing(500, 'internal_error', 'SECRET OF THE SERVER'));
      for (const path of pathsOf(1 - way)) {
        await turn(tab, path);
        const alert = tab.getByRole('alert').first();
        await alert.getByText(words.errors.codes.internal_error).waitFor();
        await alert.getByText(words.states.trace('trace-of-this')).waitFor();
        assert.equal(await tab.getByText('SECRET OF THE SERVER').count(), 0);
        await looks(opened, `failed.${path}.${colorScheme}`);
      }
      await turn(tab, '/heartbeats');
      const again = tab.getByRole('alert').first().getByRole('button', { name: words.retry, exact: true });
      await again.waitFor();
      await tab.unroute(answers);
      await again.click();
      await tab.getByText(words.monitors.empty).waitFor();
      check();
    });
  }

  test('no answer, half of one, and one that is none are told, and what was on the screen stays', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words, make } = opened;
    await make('/v1/heartbeats', { name: 'Stays', period_s: 3600 });
    for (const [answer, text] of [
      [(route: Route) => route.abort('connectionreset'), words.errors.unreached],
      [(route: Route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{"heart' }), undefined],
      [(route: Route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>nginx</h1>' }), undefined],
    ] as const) {
      await tab.unroute(answers);
      await go(tab, '/heartbeats');
      await tab.getByText('Stays', { exact: true }).waitFor();
      await tab.route(answers, answer);
      await tab.reload();
      const alert = tab.getByRole('alert').first();
      await alert.waitFor();
      if (text !== undefined) await alert.getByText(text).waitFor();
      assert.ok(await tab.getByText('Stays', { exact: true }).isVisible());
      assert.equal(await tab.getByText('nginx').count(), 0);
    }
  });

  test('what a person may not do is named with what they lack, and offers no second try', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words } = opened;
    await tab.route(answers, failing(403, 'forbidden', 'this needs the role "maintainer"; yours is "viewer"'));
    await turn(tab, '/heartbeats');
    const alert = tab.getByRole('alert').first();
    await alert.getByText(words.errors.codes.forbidden).waitFor();
    await alert.getByText('this needs the role "maintainer"; yours is "viewer"').waitFor();
    assert.equal(await alert.getByRole('button').count(), 0);
    await looks(opened, 'forbidden');
  });

  test('a stream that breaks marks what is shown as old, and its return brings what was missed without a list anew', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, words, make, context } = opened;
    const { id: monitor } = await make('/v1/heartbeats', { name: 'Before', period_s: 3600 });
    await go(tab, '/heartbeats');
    await tab.getByText('Before', { exact: true }).waitFor();
    // The stream that runs is cut, and each new one until it may return.
    await context.setOffline(true);
    await context.route(/\/v1\/events\/stream/, (route) => route.abort('connectionreset'));
    await context.setOffline(false);
    await tab
      .locator('.strip')
      .getByText(/reconnecting/)
      .waitFor();
    await looks(opened, 'stale');
    await make(`/v1/heartbeats/${monitor}`, { name: 'After' }, 'PATCH');
    const lists: string[] = [];
    tab.on('request', (request) => {
      if (/\/v1\/heartbeats(\?|$)/.test(request.url())) lists.push(request.url());
    });
    assert.ok(await tab.getByText('Before', { exact: true }).isVisible());
    await context.unroute(/\/v1\/events\/stream/);
    await tab.getByText('After', { exact: true }).waitFor();
    await tab.locator('.strip').waitFor({ state: 'detached' });
    assert.deepEqual(lists, []);
    assert.ok(await tab.getByRole('heading', { name: words.monitors.title, exact: true }).isVisible());
  });

  test('on a device whose clock is an hour off, a moment ago is a moment ago', async () => {
    await using opened = await hub.person('en', 'phone');
    const { tab, make, context } = opened;
    await context.addInitScript(`{ const real = Date.now; const late = 3_600_000; const Real = Date;
      globalThis.Date = class extends Real { constructor(...given) { if (given.length === 0) super(real() + late); else super(...given); } };
      Date.now = () => real() + late; }`);
    const { ping_url: address } = await make('/v1/heartbeats', { name: 'Fresh', period_s: 86_400 });
    await fetch(new URL(new URL(address).pathname, hub.t.gateway.url), { method: 'POST' });
    await tab.goto(`${hub.origin}/hub/heartbeats`);
    await tab.getByText('Fresh', { exact: true }).waitFor();
    const row = tab.locator('.row-link, .row', { hasText: 'Fresh' }).first();
    const text = (await row.textContent()) ?? '';
    assert.doesNotMatch(text, /hour ago|60 min|59 min/, text);
    assert.match(text, /now|sec/, text);
  });
});
