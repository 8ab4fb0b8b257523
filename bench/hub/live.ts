import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { atMost, type Findings } from '../lib/report.ts';
import { percentile } from '../lib/stats.ts';
import { memoryOfPage, slowTab, type Visit } from './visit.ts';

const tabsOfBrowser = 10;
/** A person's changes are further apart. */
const changeEveryMs = 1_200;
const sampleEveryMs = 5_000;
const changesASecond = 20;
const name = 'Watched by ten tabs';

/** What is seen of the monitor when it is down, as JavaScript. */
const isDown = {
  monitor: `document.querySelector('.facts')?.textContent.includes('Down')`,
  now: `[...document.querySelectorAll('.card h3')].some((one) => one.textContent === '${name}')`,
};
type Kind = keyof typeof isDown;
interface Tab {
  readonly tab: Page;
  readonly kind: Kind;
}
/** Hears of each change that a tab painted, and when: milliseconds since the epoch. */
interface Ear {
  hear: (tab: number, isDown: boolean, at: number) => void;
}

/**
 * A change of a monitor to the pixels of the tab in view, in a browser of ten tabs whose stream another tab reads: first the page
 * of the monitor is in view, then Now. Tabs behind are not painted; what they show is looked at in the end.
 */
export async function measureChanges(visit: Visit, changes: number): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const context = await visit.fresh();
  stack.defer(() => context.close());
  const monitor = await watchedMonitor(visit);
  await monitor.ping('');
  const ear: Ear = { hear: () => {} };
  await context.exposeBinding('tell', (_source, ...said: Parameters<Ear['hear']>) => ear.hear(...said));
  const tabs: Tab[] = [];
  while (tabs.length < tabsOfBrowser) tabs.push(await openTab(context, visit, { monitor, at: tabs.length }));
  // It is up before and after.
  const each = 2 * Math.round(changes / 4);
  const ofMonitor = await changesOf(tabs, { monitor, ear, front: tabsOfBrowser - 1, changes: each });
  const ofNow = await changesOf(tabs, { monitor, ear, front: tabsOfBrowser - 2, changes: each });
  let lost = ofMonitor.lost + ofNow.lost;
  await monitor.ping('/fail');
  for (const [at, { tab, kind }] of tabs.entries()) {
    await show(tabs, at);
    const shown = tab.evaluate(`whenShown(() => ${isDown[kind]}).then(() => true)`);
    lost += (await Promise.race([shown, delay(5_000, false)])) ? 0 : 1;
  }
  const row = (what: string, values: number[]) => ({
    what,
    'p50 ms': percentile(values, 0.5),
    'p95 ms': percentile(values, 0.95),
    'p99 ms': percentile(values, 0.99),
  });
  const all = [...ofMonitor.times, ...ofNow.times];
  return {
    rows: [
      row('a change to pixels, ten tabs, the monitor in view', ofMonitor.times),
      { ...row('a change to pixels, ten tabs, Now in view', ofNow.times), besides: `${lost} not seen` },
    ],
    targets: [
      atMost('a change to pixels in ten tabs, p95 ms', percentile(all, 0.95), 300),
      atMost('a change to pixels in ten tabs, p99 ms (wanted)', percentile(all, 0.99), 100),
      atMost('changes that a tab did not show', lost, 0),
    ],
  };
}

/** A tab that tells when it paints a change; every other one shows Now. */
async function openTab(
  context: BrowserContext,
  { origin }: Visit,
  { monitor, at }: { monitor: Watched; at: number },
): Promise<Tab> {
  const kind = at % 2 === 0 ? 'now' : 'monitor';
  const tab = await context.newPage();
  // Playwright has every tab in view: those behind are told what a browser tells them.
  await tab.addInitScript(`
    let isBehind = false;
    Object.defineProperty(document, 'visibilityState', { get: () => (isBehind ? 'hidden' : 'visible') });
    globalThis.bring = (isInView) => {
      isBehind = !isInView;
      document.dispatchEvent(new Event('visibilitychange'));
    };
    let before = false;
    new MutationObserver(() => {
      const is = Boolean(${isDown[kind]});
      if (is === before) return;
      before = is;
      void afterPaint().then((ms) => tell(${at}, is, performance.timeOrigin + ms));
    }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });`);
  await tab.goto(`${origin}/hub${kind === 'now' ? '/' : `/heartbeats/${monitor.id}`}`);
  const main = tab.locator(kind === 'now' ? '.tiles' : '.facts');
  await main.first().waitFor();
  return { tab, kind };
}

/** Milliseconds from each change to the pixels of one tab that is in view. */
async function changesOf(
  tabs: readonly Tab[],
  { monitor, ear, front, changes }: { monitor: Watched; ear: Ear; front: number; changes: number },
): Promise<{ times: number[]; lost: number }> {
  await show(tabs, front);
  await delay(2_000);
  const times: number[] = [];
  let lost = 0;
  for (let n = 0; n < changes; n += 1) {
    const wanted = n % 2 === 0;
    const seen = Promise.withResolvers<number>();
    ear.hear = (tab, isNow, at) => tab === front && isNow === wanted && seen.resolve(at);
    const sent = performance.timeOrigin + performance.now();
    await monitor.ping(wanted ? '/fail' : '');
    const at = await Promise.race([seen.promise, delay(5_000, undefined)]);
    if (at === undefined) lost += 1;
    else times.push(at - sent);
    await delay(changeEveryMs);
  }
  return { times, lost };
}

async function show(tabs: readonly Tab[], front: number): Promise<void> {
  for (const [at, { tab }] of tabs.entries()) await tab.evaluate(`bring(${at === front})`);
  await tabs[front]?.tab.bringToFront();
}

type Watched = Awaited<ReturnType<typeof watchedMonitor>>;

async function watchedMonitor({ call, platform }: Visit) {
  const made = (await call('POST', '/v1/heartbeats', { name, period_s: 86_400 })) as { id: string; ping_url: string };
  const { pathname } = new URL(made.ping_url);
  return {
    id: made.id,
    async ping(how: string): Promise<void> {
      const answer = await fetch(`http://127.0.0.1:${platform.port}${pathname}${how}`, { method: 'POST' });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`a ping was answered with ${answer.status}`);
    },
  };
}

/** A page of Now while its account changes without a rest: what its scripts hold, and its nodes. */
export async function measureBusy(visit: Visit, minutes: number): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const context = await visit.fresh();
  stack.defer(() => context.close());
  const monitor = await watchedMonitor(visit);
  const { id } = (await visit.call('POST', '/v1/sessions', { title: 'busy' })) as { id: string };
  const tab = await slowTab(context, { network: false });
  const devtools = await context.newCDPSession(tab);
  await tab.goto(`${visit.origin}/hub/`);
  await tab.locator('.tiles').waitFor();
  const over = performance.now() + minutes * 60_000;
  let done = 0;
  const busy = (async () => {
    for (; performance.now() < over; done += 1) {
      const next = performance.now() + 1_000 / changesASecond;
      if (done % changesASecond === 0) await monitor.ping(done % (2 * changesASecond) === 0 ? '/fail' : '');
      else await visit.call('PATCH', `/v1/sessions/${id}`, { title: `busy ${done}` });
      await delay(Math.max(0, next - performance.now()));
    }
  })();
  const samples: { minute: number; mb: number; nodes: number }[] = [];
  const began = performance.now();
  while (performance.now() < over - sampleEveryMs) {
    await delay(sampleEveryMs);
    samples.push({ minute: (performance.now() - began) / 60_000, ...(await memoryOfPage(devtools)) });
  }
  await busy;
  // What runs for the first time is compiled in the first quarter.
  const settled = samples.slice(Math.floor(samples.length / 4));
  const growth = slope(settled.map(({ minute, mb }) => [minute, mb]));
  const nodes = slope(settled.map((one) => [one.minute, one.nodes]));
  const [first, last] = [settled[0], settled.at(-1)];
  return {
    rows: [
      {
        what: `${minutes} min of ${Math.round(done / minutes / 60)} changes/s on Now`,
        'heap MB': last?.mb ?? Number.NaN,
        nodes: last?.nodes ?? Number.NaN,
        besides: `from ${first?.mb.toFixed(1)} MB, ${first?.nodes} nodes; ${(growth * 1_000).toFixed(0)} kB and ${nodes.toFixed(1)} nodes a minute`,
      },
    ],
    targets: [
      atMost('growth of the heap, MB in 20 minutes', growth * 20, 5),
      atMost('growth of the nodes in 20 minutes', nodes * 20, 100),
    ],
  };
}

/** Of the line that comes nearest to all points. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const above = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return above / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}
