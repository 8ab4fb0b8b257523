import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import { openDatabase, type Sql } from '../../apps/server/src/kernel/db/db.ts';
import { findRunning } from '../../apps/server/src/postgres/embedded.ts';
import { Browser as Played } from '../lib/browser.ts';
import { type Platform, startPlatform, temporaryDataDir } from '../lib/platform.ts';
import { caller } from '../lib/schedules.ts';

const person = { email: 'owner@example.com', password: 'seven quiet otters by the quay' };
/** A phone on a slow network (design: hub, Budgets). */
const slowNetwork = { latencyMs: 150, bytesPerSecond: 1_600_000 / 8 };
/** A phone is so many times slower than this machine. */
const slowCpu = 4;
const patienceMs = 60_000;

/** What the page tells of itself; each is set before its first script runs. */
const probe = `
globalThis.afterPaint = () => new Promise((resolve) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(performance.now()); };
  port2.postMessage(0);
}));
globalThis.whenShown = (isShown) => new Promise((resolve, reject) => {
  const timer = setTimeout(() => reject(new Error('it is not shown: ' + document.body?.innerText.slice(0, 300))), ${patienceMs});
  const look = () => {
    if (!isShown()) return;
    observer.disconnect();
    clearTimeout(timer);
    resolve(afterPaint());
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  look();
});
globalThis.tasks = [];
globalThis.keys = [];
new PerformanceObserver((list) => { for (const { startTime, duration } of list.getEntries()) tasks.push({ startTime, duration }); })
  .observe({ type: 'longtask' });
new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.name === 'keydown') keys.push(one.duration); })
  .observe({ type: 'event', durationThreshold: 16 });
`;

/** A platform with the owner's account, and a browser in which the owner opens the hub. */
export interface Visit extends AsyncDisposable {
  readonly platform: Platform;
  readonly origin: string;
  readonly sql: Sql;
  readonly accountId: string;
  /** Calls the API with the owner's key. */
  readonly call: (method: string, path: string, body?: unknown, device?: string) => Promise<unknown>;
  /** A browser of its own where the owner is signed in, which has kept nothing yet. */
  fresh(): Promise<BrowserContext>;
}

/** Opens both; the owner is signed in. */
export async function openVisit(): Promise<Visit> {
  await using opening = new AsyncDisposableStack();
  const dataDir = opening.use(temporaryDataDir());
  const settings = { SVC_RATE_REQUESTS: '100000000', SVC_LOG_LEVEL: 'warn', SVC_QUOTA_HEARTBEATS: '1000000' };
  const platform = opening.use(await startPlatform(dataDir.path, settings));
  const origin = `http://localhost:${platform.port}`;
  const embedded = findRunning(dataDir.path);
  if (!embedded) throw new Error('the database does not run');
  const sql = openDatabase({ embedded, database: 'svc' }, 2);
  opening.defer(() => sql.end({ timeout: 1 }));
  const { call, close } = caller(platform);
  opening.defer(close);
  await new Played().settle(
    readFileSync(join(dataDir.path, 'setup.link'), 'utf8').trim(),
    person.email,
    person.password,
  );
  const chrome = await launch();
  opening.defer(() => chrome.close());
  const state = await signIn(chrome, origin);
  const [account] = await sql<{ id: string }[]>`select id from accounts.accounts limit 1`;
  const stack = opening.move();
  return {
    platform,
    origin,
    sql,
    accountId: account?.id ?? '',
    call,
    async fresh() {
      const context = await chrome.newContext({
        locale: 'en',
        viewport: { width: 390, height: 844 },
        storageState: state,
      });
      await context.addInitScript(probe);
      return context;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function launch(): Promise<Browser> {
  const executablePath = spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim();
  if (executablePath === '') throw new Error('there is no chromium: apt install chromium');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-background-networking'] });
}

/** Cookies of a browser in which the owner signed in. */
async function signIn(chrome: Browser, origin: string): Promise<Awaited<ReturnType<BrowserContext['storageState']>>> {
  const context = await chrome.newContext({ locale: 'en' });
  const tab = await context.newPage();
  await tab.goto(`${origin}/hub/`);
  await tab.locator('input[type=email]').fill(person.email);
  await tab.locator('input[type=password]').fill(person.password);
  await tab.locator('button.primary').first().click();
  await tab.locator('.tiles').waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

/** A tab as slow as a phone; with `network`, on a slow network too. */
export async function slowTab(context: BrowserContext, { network }: { network: boolean }): Promise<Page> {
  const tab = await context.newPage();
  const devtools = await context.newCDPSession(tab);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowCpu });
  const { latencyMs: latency, bytesPerSecond } = slowNetwork;
  const throughput = { downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond };
  if (network) await devtools.send('Network.emulateNetworkConditions', { offline: false, latency, ...throughput });
  return tab;
}

/** Milliseconds from the start of a navigation until what `isShown`, JavaScript, looks for is painted. */
export async function paintOf(tab: Page, url: string, isShown: string): Promise<number> {
  await tab.addInitScript(`globalThis.shown = whenShown(() => ${isShown}); shown.catch(() => {});`);
  await tab.goto(url, { waitUntil: 'commit' });
  return tab.evaluate<number>('shown');
}

/** Waits until the service worker of a context has kept the shell. */
export async function installed(tab: Page): Promise<void> {
  await tab.evaluate('navigator.serviceWorker.ready.then(() => undefined)');
  while (!(await tab.evaluate('caches.keys().then((names) => names.length > 0)'))) await delay(50);
}

/** What a page's scripts hold after a collection, and its nodes. */
export async function memoryOfPage(devtools: CDPSession): Promise<{ mb: number; nodes: number }> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  const { nodes } = await devtools.send('Memory.getDOMCounters');
  return { mb: usedSize / 1e6, nodes };
}

/** The longest task since the last call, milliseconds; 0: none was longer than 50. */
export const longestTask = (tab: Page): Promise<number> =>
  tab.evaluate('Math.max(0, ...tasks.splice(0).map(({ duration }) => duration))');
