import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { OutboxChange } from '@svc/sdk';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { bundle } from './kernel/reference/bundle.ts';
import { launchBrowser, noBrowser } from './testing.browser.ts';
import { clientOf, type OpenTest, openTest } from './testing.ts';

const sdk = resolve(import.meta.dirname, '../../../packages/sdk/src/index.ts');

/** What a page of the tests has: an outbox, what it said, and the changes that came. */
interface Global {
  outbox: { put(operation: string, input: object): Promise<object> };
  said: (Pick<OutboxChange, 'state'> & { id: string; name?: string })[];
  came: string[];
}
const program = `
  import { createClient, follow, indexedDbStorage, openOutbox } from '/sdk.js';
  const { settings } = globalThis;
  const client = createClient({ ...settings, onWarning: () => {} });
  globalThis.said = [];
  globalThis.came = [];
  globalThis.outbox = openOutbox(client, indexedDbStorage('test'), {
    onChange: ({ state, entry }) => said.push({ state, id: entry.id, name: entry.input.body?.name }),
  });
  globalThis.ready = true;
  for await (const item of follow(client, { topics: ['prompts'] })) came.push(item.missed ? 'missed' : item.record.prompt);`;

describe('the SDK in a page of another origin', { skip: noBrowser }, () => {
  let t: OpenTest;
  let chrome: Browser;
  let origin = '';
  const page = createServer(({ url }, response) => {
    const [type, body] =
      url === '/sdk.js' ? ['text/javascript', code] : ['text/html', `<script type="module">${program}</script>`];
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  let code = '';

  before(async () => {
    const [built] = await bundle({ entryPoints: [sdk], target: 'es2022' });
    code = built?.text ?? '';
    await once(page.listen(0, '127.0.0.1'), 'listening');
    // A name that browsers count as safe: pages of plain HTTP elsewhere have no locks.
    origin = `http://localhost:${(page.address() as AddressInfo).port}`;
    t = await openTest({ settings: { SVC_CORS_ORIGINS: origin } });
    chrome = await launchBrowser();
  });
  after(async () => {
    await chrome?.close();
    page.closeAllConnections();
    page.close();
    await t?.[Symbol.asyncDispose]();
  });

  const open = async (context: BrowserContext): Promise<Page> => {
    const tab = await context.newPage();
    const settings = { baseUrl: t.gateway.url, apiKey: t.account.key };
    await tab.addInitScript((given) => Object.assign(globalThis, { settings: given }), settings);
    await tab.goto(origin);
    await tab.waitForFunction(() => 'ready' in globalThis);
    return tab;
  };
  /** Resolves with what the outbox of the tab had stored. */
  const put = (tab: Page, name: string) =>
    tab.evaluate((body) => (globalThis as unknown as Global).outbox.put('heartbeats.create', { body }), {
      name,
      period_s: 3_600,
    });
  const saidOf = (tab: Page) => tab.evaluate(() => (globalThis as unknown as Global).said);
  const waitFor = (tab: Page, state: string, times: number) =>
    tab.waitForFunction(
      ([wanted, count]) =>
        (globalThis as unknown as Global).said.filter((change) => change.state === wanted).length >= count,
      [state, times] as const,
      { timeout: 0 },
    );
  const namesOf = async (prefix: string): Promise<string[]> => {
    const names: string[] = [];
    for await (const { name } of clientOf(t.gateway, t.account.key).heartbeats.list.all()) names.push(name);
    return names.filter((name) => name.startsWith(prefix)).sort();
  };

  test('what was typed offline is stored, and arrives once when the browser comes online', async () => {
    await using context = await chrome.newContext();
    const tab = await open(context);
    await context.setOffline(true);
    for (const n of [1, 2, 3]) await put(tab, `offline ${n}`);
    assert.deepEqual(await namesOf('offline'), []);
    assert.deepEqual(
      (await saidOf(tab)).map(({ state }) => state).filter((state) => state === 'sent'),
      [],
    );
    await context.setOffline(false);
    await waitFor(tab, 'sent', 3);
    const sent = (await saidOf(tab)).filter(({ state }) => state === 'sent').map(({ name }) => name);
    assert.deepEqual(sent, ['offline 1', 'offline 2', 'offline 3']);
    assert.deepEqual(await namesOf('offline'), sent);
  });

  test('what was typed offline outlives its page', async () => {
    await using context = await chrome.newContext();
    const first = await open(context);
    await context.setOffline(true);
    for (const n of [1, 2]) await put(first, `closed ${n}`);
    await first.close();
    await context.setOffline(false);
    const second = await open(context);
    await waitFor(second, 'sent', 2);
    assert.deepEqual(await namesOf('closed'), ['closed 1', 'closed 2']);
  });

  test('two tabs on one outbox send each write once, and each hears of its own', async () => {
    await using context = await chrome.newContext();
    const tabs = [await open(context), await open(context)];
    const writes = tabs.flatMap((tab, which) => [0, 1, 2, 3, 4, 5].map((n) => put(tab, `tab ${which} ${n}`)));
    await Promise.all(writes);
    for (const [which, tab] of tabs.entries()) {
      await tab.waitForFunction(
        (own) => {
          const { said } = globalThis as unknown as Global;
          const mine = said.filter(({ state, name }) => state === 'stored' && name?.startsWith(own));
          return mine.every(({ id }) => said.some((change) => change.state === 'sent' && change.id === id));
        },
        `tab ${which}`,
        { timeout: 0 },
      );
    }
    const names = await namesOf('tab');
    assert.deepEqual([names.length, new Set(names).size], [12, 12]);
  });

  test('changes that happen while it is offline come when it is back, each once', async () => {
    await using context = await chrome.newContext();
    const tab = await open(context);
    const cameTo = (count: number) =>
      tab.waitForFunction((least) => (globalThis as unknown as Global).came.length >= least, count, { timeout: 0 });
    await cameTo(1);
    const keep = (prompt: string) => clientOf(t.gateway, t.account.key).prompts.create({ body: { prompt } });
    await keep('before');
    await cameTo(2);
    await context.setOffline(true);
    for (const name of ['one', 'two', 'three']) await keep(name);
    await context.setOffline(false);
    await keep('after');
    await cameTo(6);
    const came = await tab.evaluate(() => (globalThis as unknown as Global).came);
    assert.deepEqual(came, ['missed', 'before', 'one', 'two', 'three', 'after']);
  });
});
