import type { BrowserContext } from 'playwright-core';
import { atMost, type Findings } from '../lib/report.ts';
import { median } from '../lib/stats.ts';
import { installed, paintOf, slowTab, type Visit } from './visit.ts';

const overviewShown = "document.querySelector('.tiles') && document.querySelector('.card, .well')";
const decisionShown = "document.querySelector('.decide .primary')";
const days = (count: number): number => count * 86_400_000;

/** How soon pages are of use: at a first visit, in the installed app, from a notification, and in aeroplane mode. */
export async function measureFirst(visit: Visit, rounds: number): Promise<Findings> {
  const { origin } = visit;
  const now = `${origin}/hub/`;
  const times = { first: [] as number[], installed: [] as number[], approval: [] as number[], offline: [] as number[] };
  let age = '';
  for (let round = 0; round < rounds; round += 1) {
    await using stack = new AsyncDisposableStack();
    const context = await visit.fresh();
    stack.defer(() => context.close());
    const first = await slowTab(context, { network: true });
    times.first.push(await paintOf(first, now, overviewShown));
    await installed(first);
    await first.close();
    times.installed.push(await openOnce(context, now, overviewShown));
    times.approval.push(
      await openOnce(context, `${now}schedule-runs/${await waitingRun(visit, round)}`, decisionShown),
    );
    age = await grow(context, now);
    await context.setOffline(true);
    const tab = await slowTab(context, { network: false });
    times.offline.push(await paintOf(tab, now, `${overviewShown} && document.querySelector('.strip')`));
    age = `kept ${age}: "${await tab.locator('.strip').textContent()}"`;
  }
  const row = (what: string, values: number[], besides = '') => ({
    what,
    'p50 ms': median(values),
    'max ms': Math.max(...values),
    besides,
  });
  return {
    rows: [
      row('Now, first visit, CPU/4, 1.6 Mbit/s, 150 ms', times.first),
      row('Now, installed, the same', times.installed),
      row('approval page from a notification, the same', times.approval),
      row('Now, aeroplane mode, CPU/4', times.offline, age),
    ],
    targets: [
      atMost('first useful paint of Now, first visit, p50 ms', median(times.first), 1_800),
      atMost('first useful paint of Now, installed, p50 ms', median(times.installed), 800),
      atMost('approval page from a notification, p50 ms', median(times.approval), 800),
      atMost('first useful screen in aeroplane mode, p50 ms', median(times.offline), 300),
    ],
  };
}

async function openOnce(context: BrowserContext, url: string, isShown: string): Promise<number> {
  const tab = await slowTab(context, { network: true });
  const ms = await paintOf(tab, url, isShown);
  await tab.close();
  return ms;
}

/** A run that waits for approval and that no page has shown. */
async function waitingRun({ call }: Visit, round: number): Promise<string> {
  const schedule = {
    name: `Deploy ${round}`,
    kind: 'shell',
    spec: { command: 'make deploy' },
    trigger: { type: 'interval', every_s: 86_400 },
    policy: { approval: 'always' },
  };
  const { id } = (await call('POST', '/v1/schedules', schedule)) as { id: string };
  return ((await call('POST', `/v1/schedules/${id}/run`)) as { run_id: string }).run_id;
}

/** Makes what the browser keeps six and a half days older; answers since when it is, as a person would write it. */
async function grow(context: BrowserContext, url: string): Promise<string> {
  const tab = await context.newPage();
  // A document that runs nothing of the hub.
  await tab.goto(`${url}manifest.webmanifest`);
  const at = await tab.evaluate<number>(`new Promise((resolve, reject) => {
    const opened = indexedDB.open('svc-hub');
    opened.onerror = () => reject(opened.error);
    opened.onsuccess = () => {
      const write = opened.result.transaction('records', 'readwrite');
      const store = write.objectStore('records');
      let newest = 0;
      store.openCursor().onsuccess = ({ target: { result: cursor } }) => {
        if (!cursor) return;
        const at = cursor.value.at - ${days(6.5)};
        newest = Math.max(newest, at);
        cursor.update({ ...cursor.value, at });
        cursor.continue();
      };
      write.oncomplete = () => { opened.result.close(); resolve(newest); };
      write.onerror = () => reject(write.error);
    };
  })`);
  await tab.close();
  return new Date(at).toISOString().slice(0, 16);
}
