import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { en } from '../../../../hub/src/words/en.ts';
import { ro } from '../../../../hub/src/words/ro.ts';
import { launchBrowser, turn } from '../../testing.browser.ts';
import { type HttpAnswer, http, type TestAccount } from '../../testing.ts';
import { openPlatform, type Platform, type PlayedBrowser, person } from '../auth/auth.testing.ts';

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

  /** Tells a person's pages that a record changed: what a test wrote to its row by itself nobody else tells. */
  async tell({ account }: Pick<Opened, 'account'>, topic: string, id: string): Promise<void> {
    const { feed, sql } = this.t.gateway.kernel;
    await feed.record(sql, [{ accountId: account.id, topic, op: 'updated', id }]);
  }

  /** A browser in which nobody is signed in, and nothing moves: a press waits until what moves stands still. */
  stranger = (locale: Locale = 'en', size: Size = 'phone', more: object = {}): Promise<BrowserContext> =>
    this.#chrome.newContext({
      locale,
      viewport: sizes[size],
      reducedMotion: 'reduce',
      serviceWorkers: 'block',
      ...more,
    });

  /**
   * A new person who is signed in, on the first page, with all that their browser asked for and was refused. Their
   * browser has the service worker where `more` is `withWorker`: that one fetches and keeps the whole hub for each
   * person.
   */
  async person(locale: Locale = 'en', size: Size = 'phone', more: object = {}): Promise<Opened> {
    const { t, origin } = this;
    const context = await this.stranger(locale, size, more);
    const { browser, ...account } = await person(t, `${origin}/auth`);
    await signIn(context, browser, origin);
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
      await tab.goto(`${origin}/hub/`, { waitUntil: 'commit' });
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

/** A monitor that is down, and the path of its pings. */
export async function brokenMonitor(hub: HubTest, opened: Opened, name: string) {
  const made = await opened.make('/v1/heartbeats', { name, period_s: 3600 });
  const { pathname } = new URL(made.ping_url);
  await http(hub.t.gateway.url, pathname, { method: 'POST' });
  await http(hub.t.gateway.url, `${pathname}/fail`, { method: 'POST' });
  return { id: made.id as string, pathname };
}

/** A run that waits until it is approved. */
export async function waitingRun(opened: Opened, name = 'Deploy'): Promise<string> {
  const { id } = await opened.make('/v1/schedules', {
    name,
    kind: 'shell',
    spec: { command: 'make deploy' },
    trigger: { type: 'interval', every_s: 3600 },
    policy: { approval: 'always' },
  });
  return (await opened.make(`/v1/schedules/${id}/run`)).run_id;
}

/** Of a browser that has the service worker. */
export const withWorker = { serviceWorkers: 'allow' } as const;

/** Signs a person in by the ways of the product, without drawing its pages, and gives their cookies to a browser. */
async function signIn(context: BrowserContext, browser: PlayedBrowser, origin: string): Promise<void> {
  await browser.follow(`${origin}/hub/login/start`, (to) => to === `${origin}/hub/`);
  // A cookie of https alone goes to localhost too; what is of one path is of a sign-in under way.
  const own = [...browser.cookies].filter(([, { path }]) => path === '/');
  await context.addCookies(
    own.map(([name, { value, isHidden }]) => ({
      name,
      value,
      url: origin.replace('http:', 'https:'),
      httpOnly: isHidden,
      secure: true,
      sameSite: 'Strict',
    })),
  );
}

/** A finding of axe. */
interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** In the page: how far it scrolls sideways. */
const overOf = (tab: Page): Promise<number> => tab.evaluate('document.documentElement.scrollWidth - innerWidth');

/** A page does not scroll sideways at 320 px, on a phone and on a screen. Takes pictures where they are asked for. */
async function checkWidths(tab: Page, name: string): Promise<void> {
  const before = tab.viewportSize() ?? sizes.phone;
  for (const [size, viewport] of Object.entries({ ...sizes, narrow: { width: 320, height: 640 } })) {
    await tab.setViewportSize(viewport);
    const over = await overOf(tab);
    assert.ok(over <= 0, `${name} scrolls sideways by ${over} px at ${viewport.width} px`);
    if (pictures === undefined) continue;
    mkdirSync(pictures, { recursive: true });
    await tab.screenshot({ path: join(pictures, `hub.${name.replaceAll('/', '_')}.${size}.png`), fullPage: true });
  }
  await tab.setViewportSize(before);
}

async function checkAloud(tab: Page, name: string, options: object): Promise<void> {
  // Playwright's own evaluation is not bound by the page's policy.
  if (!(await tab.evaluate("'axe' in globalThis"))) await tab.evaluate(axe);
  const asked = JSON.stringify({ resultTypes: ['violations'], ...options });
  const { violations }: { violations: Violation[] } = await tab.evaluate(`axe.run(${asked})`);
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`),
    [],
    name,
  );
}

/**
 * A page is of its width at each size, and reads aloud without serious findings of axe. One look by axe is enough for a
 * page: a second language in the other color scheme is looked at for its `colors` alone.
 */
export async function checkLooks(tab: Page, name: string, what: 'all' | 'colors' = 'all'): Promise<void> {
  await checkWidths(tab, name);
  await checkAloud(tab, name, what === 'all' ? {} : { runOnly: ['color-contrast'] });
}

/** Waits until a page shows its heading and waits for nothing. */
export const whole = (tab: Page): Promise<void> => tab.locator('body:not(:has(.loading)) main h1').waitFor();

/** Turns to a page of the hub, and waits until it is whole. */
export async function go(tab: Page, path: string): Promise<void> {
  await turn(tab, path);
  await whole(tab);
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
