import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { noBrowser } from '../../testing.browser.ts';
import { until } from '../../testing.ts';
import { password, person } from '../auth/auth.testing.ts';
import { go, HubTest, keptIn, type Opened, withWorker } from './hub.testing.ts';

describe('what a browser keeps of the hub', { skip: noBrowser }, () => {
  let hub: HubTest;

  before(async () => {
    hub = await HubTest.open();
  });
  after(() => hub?.[Symbol.asyncDispose]());

  for (const [what, script] of [
    [
      'lets nobody use its storages',
      `for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
      Object.defineProperty(globalThis, name, { get() { throw new DOMException(name, 'SecurityError'); } })`,
    ],
    [
      'has no room',
      `for (const [kind, name] of [[Storage, 'setItem'], [IDBObjectStore, 'put']])
      kind.prototype[name] = () => { throw new DOMException('full', 'QuotaExceededError'); }`,
    ],
    ['has no databases', `Object.defineProperty(globalThis, 'indexedDB', { value: undefined })`],
  ] as const)
    test(`a browser that ${what} shows every page all the same`, async () => {
      await using opened = await hub.person('en', 'phone', withWorker);
      const { context, words, check } = opened;
      await context.addInitScript(script);
      const tab = await context.newPage();
      for (const [path, title] of [
        ['/', words.now.title],
        ['/heartbeats/new', words.monitors.new],
      ] as const) {
        await tab.goto(`${hub.origin}/hub${path}`);
        await tab.getByRole('heading', { name: title, exact: true }).waitFor();
      }
      check();
    });

  /** What the worker keeps of a press that had no network. */
  const keepPress = async ({ tab }: Opened, path: string): Promise<void> => {
    await tab.evaluate(`navigator.serviceWorker.ready.then(() => undefined)`);
    await tab.evaluate(`new Promise((resolve, reject) => {
      const request = indexedDB.open('svc-hub-acts', 1);
      request.onupgradeneeded = () => request.result.createObjectStore('acts', { keyPath: 'key' });
      request.onsuccess = () => {
        const transaction = request.result.transaction('acts', 'readwrite');
        const act = { key: 'kept-press', title: 'T', tag: 't', method: 'POST', path: '${path}', body: {}, at: Date.now() };
        transaction.objectStore('acts').put(act);
        transaction.oncomplete = () => resolve();
        transaction.onerror = reject;
        request.result.close();
      };
    })`);
  };
  const signIn = async (tab: Page, email: string): Promise<void> => {
    await tab.waitForURL(/\/sign-in\//);
    await tab.locator('input[type=email]').fill(email);
    await tab.locator('input[type=password]').fill(password);
    await tab.locator('button.primary').first().click();
    await tab.waitForURL(/\/hub\//);
  };

  test('who signs in next sees no draft of the person before, and sends nothing that they pressed', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { tab, context, words } = opened;
    const next = await person(hub.t, `${hub.origin}/auth`);
    const other = await context.newPage();
    await go(tab, '/heartbeats/new');
    await other.goto(`${hub.origin}/hub/heartbeats/new`);
    for (const page of [tab, other]) await page.getByLabel(words.name, { exact: true }).fill('Half written');
    await go(tab, '/me');
    await tab.getByRole('button', { name: words.signOut, exact: true }).first().waitFor();
    await keepPress(opened, '/v1/schedules/pause');
    const pressed: string[] = [];
    context.on('request', (request) => {
      if (request.url().endsWith('/v1/schedules/pause')) pressed.push(request.url());
    });
    await tab.getByRole('button', { name: words.signOut, exact: true }).first().click();
    for (const page of [tab, other]) await page.waitForURL(/\/sign-in\//);
    await signIn(tab, next.email);
    await tab.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
    for (const page of [tab, other]) {
      await page.goto(`${hub.origin}/hub/heartbeats/new`);
      assert.equal(await page.getByLabel(words.name, { exact: true }).inputValue(), '');
      assert.doesNotMatch(await keptIn(page), /Half written|kept-press/);
    }
    assert.deepEqual(pressed, []);
  });

  test('a press without a network that finds a server which fails is sent again later, and once', async () => {
    await using opened = await hub.person('en', 'phone', withWorker);
    const { tab, context, words } = opened;
    const statuses: number[] = [];
    await context.route(/\/v1\/schedules\/pause$/, async (route) => {
      statuses.push(statuses.length === 0 ? 503 : 200);
      await route.fulfill({ status: statuses.at(-1) ?? 200, body: '{}' });
    });
    await keepPress(opened, '/v1/schedules/pause');
    await tab.reload();
    await until(() => statuses.length === 1);
    await tab.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
    await tab.reload();
    await until(async () => !/kept-press/.test(await keptIn(tab)));
    assert.deepEqual(statuses, [503, 200]);
  });

  test('an answer that is older than a change does not bring back what was', async () => {
    await using opened = await hub.person('en', 'screen');
    const { tab, context, make, words } = opened;
    const renamed = await make('/v1/heartbeats', { name: 'Before', period_s: 3600 });
    const deleted = await make('/v1/heartbeats', { name: 'Gone', period_s: 3600 });
    const held = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await go(tab, '/heartbeats');
    await tab.getByText('Before', { exact: true }).waitFor();
    // The first list from now on is slow.
    await context.route(
      /\/v1\/heartbeats\?/,
      async (route) => {
        const response = await route.fetch();
        asked.resolve();
        await held.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await make('/v1/heartbeats', { name: 'Added', period_s: 3600 });
    await asked.promise;
    await make(`/v1/heartbeats/${renamed.id}`, { name: 'After' }, 'PATCH');
    await make(`/v1/heartbeats/${deleted.id}`, undefined, 'DELETE');
    await tab.getByText('After', { exact: true }).waitFor();
    held.resolve();
    await tab.getByText('Added', { exact: true }).waitFor();
    await tab.getByText('After', { exact: true }).waitFor();
    await tab.getByText('Gone', { exact: true }).waitFor({ state: 'detached' });
    assert.ok(await tab.getByRole('heading', { name: words.monitors.title, exact: true }).isVisible());
  });

  test('a list shows what comes while more and more comes, however slowly it is answered', async () => {
    await using opened = await hub.person('en', 'screen');
    const { tab, context, make } = opened;
    await make('/v1/heartbeats', { name: 'First', period_s: 3600 });
    await go(tab, '/heartbeats');
    await tab.getByText('First', { exact: true }).waitFor();
    let running = 0;
    let most = 0;
    let added = 0;
    let isDone = false;
    await context.route(/\/v1\/heartbeats\?/, async (route) => {
      running += 1;
      most = Math.max(most, running);
      const response = await route.fetch();
      const until5More = added + 5;
      await until(() => added >= until5More || isDone);
      running -= 1;
      await route.fulfill({ response });
    });
    const isShown = () => tab.getByText('Added 0', { exact: true }).isVisible();
    for (; added < 400 && !(await isShown()); added += 1)
      await make('/v1/heartbeats', { name: `Added ${added}`, period_s: 3600 });
    isDone = true;
    assert.deepEqual([await isShown(), most], [true, 1]);
    await context.unrouteAll({ behavior: 'ignoreErrors' });
  });
});
