import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { en } from '../../../../hub/src/words/en.ts';
import { ro } from '../../../../hub/src/words/ro.ts';
import { launchBrowser } from '../../testing.browser.ts';
import { type HttpAnswer, http, type TestAccount, until } from '../../testing.ts';
import { openPlatform, type Platform, password, person } from '../auth/auth.testing.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A folder for pictures of every page, to look at. */
const pictures = process.env['SVC_TEST_PICTURES'];

const sizes = { phone: { width: 390, height: 844 }, screen: { width: 1280, height: 800 } };
export type Size = keyof typeof sizes;
const texts = { en, ro };
type Locale = keyof typeof texts;

/** A person who is signed in to the hub, in a browser of their own. */
export interface Opened extends AsyncDisposable {
  context: BrowserContext;
  tab: Page;
  account: TestAccount;
  words: typeof en;
  /** Calls the API with a key of theirs; by default with POST. */
  make(path: string, body?: object, method?: string): Promise<HttpAnswer['body']>;
  /** Nothing was refused, nothing failed, and nobody else was asked. */
  check(): void;
}

/** A platform, and a browser in which people open its hub. */
export class HubTest implements AsyncDisposable {
  readonly t: Platform;
  readonly origin: string;
  readonly #chrome: Browser;

  constructor(t: Platform, chrome: Browser) {
    this.t = t;
    this.origin = `http://localhost:${t.port}`;
    this.#chrome = chrome;
  }

  /** Opens both. */
  static async open(
    settings: ReturnType<NonNullable<Parameters<typeof openPlatform>[0]>> = {},
    given?: Platform,
    launch = launchBrowser,
  ): Promise<HubTest> {
    const t = given ?? (await openPlatform((port) => ({ SVC_BASE_URL: `http://localhost:${port}`, ...settings })));
    const chrome = await launch();
    return new HubTest(t, chrome);
  }

  /** A browser in which nobody is signed in. */
  stranger = (locale: Locale = 'en', size: Size = 'phone'): Promise<BrowserContext> =>
    this.#chrome.newContext({ locale, viewport: sizes[size] });

  /** A new person who is signed in, with all that their browser asked for and was refused. */
  async person(locale: Locale = 'en', size: Size = 'phone', more: object = {}): Promise<Opened> {
    const { t, origin } = this;
    const context = await this.#chrome.newContext({ locale, viewport: sizes[size], ...more });
    const account = await person(t, `${origin}/auth`);
    const foreign: string[] = [];
    const refused: string[] = [];
    context.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith('data:') && !url.startsWith('blob:') && new URL(url).origin !== origin) foreign.push(url);
    });
    await context.exposeBinding('reportRefused', (_source, text: string) => void refused.push(text));
    await context.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
      reportRefused(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))`);
    const tab = await context.newPage();
    const errors: string[] = [];
    tab.on('pageerror', (error) => errors.push(error.message));
    const words = texts[locale];
    await explained(tab, errors, async () => {
      await tab.goto(`${origin}/hub/`);
      await tab.locator('input[type=email]').fill(account.email);
      await tab.locator('input[type=password]').fill(password);
      await tab.locator('button.primary').first().click();
      await tab.getByRole('heading', { name: words.now.title, exact: true }).waitFor();
    });
    return {
      context,
      tab,
      account,
      words,
      make: async (path, body, method = 'POST') =>
        (await http(t.gateway.url, path, { key: account.key, method, ...(body && { body }) })).body,
      check: () => assert.deepEqual([refused, errors, foreign], [[], [], []]),
      [Symbol.asyncDispose]: () => context.close(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chrome.close();
    await this.t[Symbol.asyncDispose]();
  }
}

/** A finding of axe. */
interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** A page does not scroll sideways, and reads aloud without serious findings. Takes a picture where they are asked for. */
export async function checkLooks(tab: Page, name: string): Promise<void> {
  const over: number = await tab.evaluate('document.documentElement.scrollWidth - innerWidth');
  assert.ok(over <= 0, `${name} scrolls sideways by ${over} px`);
  // Playwright's own evaluation is not bound by the page's policy.
  await tab.evaluate(axe);
  const { violations }: { violations: Violation[] } = await tab.evaluate("axe.run({ resultTypes: ['violations'] })");
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`),
    [],
    name,
  );
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await tab.screenshot({ path: join(pictures, `hub.${name.replaceAll('/', '_')}.png`), fullPage: true });
}

/** A page does not scroll sideways at 320 px. */
export async function checkNarrow(tab: Page): Promise<void> {
  const size = tab.viewportSize() ?? sizes.phone;
  await tab.setViewportSize({ width: 320, height: 640 });
  const over: number = await tab.evaluate('document.documentElement.scrollWidth - innerWidth');
  assert.ok(over <= 0, `${tab.url()} scrolls sideways by ${over} px at 320 px`);
  await tab.setViewportSize(size);
}

/** Waits until a page shows its heading and waits for nothing. */
export async function whole(tab: Page): Promise<void> {
  await tab.locator('main h1').waitFor();
  await until(async () => (await tab.locator('.loading').count()) === 0);
}

/** All that the browser keeps for this origin: databases, caches of responses with their bodies, and the two storages, as JSON. */
export const keptIn = (tab: Page): Promise<string> =>
  tab.evaluate(`(async () => {
    const settled = (request) => new Promise((resolve) => request.addEventListener('success', () => resolve(request.result)));
    const kept = [{ ...localStorage }, { ...sessionStorage }, document.cookie];
    for (const { name } of await indexedDB.databases()) {
      const database = await settled(indexedDB.open(name));
      for (const store of database.objectStoreNames)
        kept.push(await settled(database.transaction(store).objectStore(store).getAll()));
      database.close();
    }
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys())
        kept.push(request.url, await (await cache.match(request)).text());
    }
    return JSON.stringify(kept);
  })()`);

/** Does something in a page; a failure tells what the page asked for and did not get, and what it shows. */
async function explained(tab: Page, errors: readonly string[], work: () => Promise<void>): Promise<void> {
  const open = new Set<string>();
  const done = (request: Request): void => void open.delete(request.url());
  tab.on('request', (request) => void open.add(request.url()));
  tab.on('requestfinished', done);
  tab.on('requestfailed', (request) => {
    done(request);
    open.add(`${request.url()}: ${request.failure()?.errorText}`);
  });
  try {
    await work();
  } catch (error) {
    const seen = await tab.evaluate('document.body.innerText.slice(0, 500)').catch(String);
    throw new Error(
      `at ${tab.url()}, unanswered ${[...open].join(', ')}; errors ${errors.join(', ')}; seen: ${String(seen)}`,
      {
        cause: error,
      },
    );
  }
}
