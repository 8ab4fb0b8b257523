import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { Recorder } from '../../apps/server/src/features/transcripts/transcripts.testing.ts';
import { atMost, type Findings, type Target } from '../lib/report.ts';
import { percentile } from '../lib/stats.ts';
import { fillThreeHours } from '../transcripts/exports.ts';
import { longestTask, memoryOfPage, slowTab, type Visit } from './visit.ts';

const wheelPx = 1_200;
const wheelEveryMs = 60;
const keyEveryMs = 90;
/** A task that is no longer is not told of. */
const shortTaskMs = 50;

/** Many monitors: scrolled through to the last, then searched. */
export async function measureMonitors(visit: Visit, monitors: number): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const context = await visit.fresh();
  stack.defer(() => context.close());
  const tab = await slowTab(context, { network: false });
  const devtools = await context.newCDPSession(tab);
  await tab.goto(`${visit.origin}/hub/heartbeats`);
  await tab.locator('.rows.many').waitFor();
  await longestTask(tab);
  await tab.mouse.move(200, 400);
  const rows = (): Promise<number> => tab.evaluate("Number(document.querySelector('.rows.many li')?.ariaSetSize)");
  for (let shown = 0, turns = 0; shown < monitors && turns < monitors; turns += 1) {
    await wheel(tab, 4);
    shown = await rows();
  }
  const scrolled = await longestTask(tab);
  const { mb, nodes } = await memoryOfPage(devtools);
  await tab.evaluate('scrollTo(0, 0)');
  await tab.locator('input.search').focus();
  await tab.evaluate('keys.length = 0');
  for (const text of ['Monitor 99', 'Monitor 1234']) {
    await tab.keyboard.type(text, { delay: keyEveryMs });
    await delay(600);
    for (let left = text.length; left > 0; left -= 1) await tab.keyboard.press('Backspace', { delay: keyEveryMs });
    await delay(600);
  }
  const pressed = await tab.evaluate<number[]>('keys');
  const typed = await longestTask(tab);
  // What is painted within 16 ms is not told of.
  const all = [...pressed, ...Array.from({ length: Math.max(0, 44 - pressed.length) }, () => 16)];
  return {
    rows: [
      {
        what: `${await rows()} of ${monitors} monitors scrolled, CPU/4`,
        'longest task ms': scrolled,
        'heap MB': mb,
        nodes,
      },
      {
        what: 'a key in the filter to paint',
        'p50 ms': percentile(all, 0.5),
        'p95 ms': percentile(all, 0.95),
        'longest task ms': typed,
      },
    ],
    targets: [
      atMost('key to paint with many rows, p95 ms', percentile(all, 0.95), 100),
      atMost('longest task while scrolling monitors, ms', scrolled, shortTaskMs),
      atMost('heap of the page with all rows, MB', mb, 60),
    ],
  };
}

/** The log of a run with many lines: read to its end, scrolled, and continued while its reader is above. */
export async function measureLog(visit: Visit, lines: number): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const context = await visit.fresh();
  stack.defer(() => context.close());
  const running = await runWithLog(visit);
  const text = (from: number, count: number): string =>
    Array.from(
      { length: count },
      (_, at) => `${from + at} \u001b[3${at % 8}m[info]\u001b[0m checked one of the files of the backup, all is well\n`,
    ).join('');
  const each = 8_000;
  for (let from = 0; from < lines; from += each) await running.write(text(from, Math.min(each, lines - from)));
  const tab = await slowTab(context, { network: false });
  const devtools = await context.newCDPSession(tab);
  const began = performance.now();
  await tab.goto(`${visit.origin}/hub/schedule-runs/${running.id}`);
  await tab.getByText(`${lines - 1} [info]`).waitFor({ timeout: 120_000 });
  const readMs = performance.now() - began;
  const loading = await longestTask(tab);
  const { mb } = await memoryOfPage(devtools);
  await tab.locator('.log-box').hover();
  await wheel(tab, 40, -wheelPx);
  const scrolled = await longestTask(tab);
  await running.write(text(lines, 312));
  await tab.locator('.log-fresh').waitFor();
  const fresh = (await tab.locator('.log-fresh').textContent()) ?? '';
  await longestTask(tab);
  await tab.locator('.log-tools input').pressSequentially('99999', { delay: keyEveryMs });
  const searched = await longestTask(tab);
  await running.close();
  return {
    rows: [
      {
        what: `log of ${lines} lines until its last is shown, CPU/4`,
        'p50 ms': readMs,
        'longest task ms': loading,
        'heap MB': mb,
      },
      { what: 'scrolling in it', 'longest task ms': scrolled, besides: `after 312 more: "${fresh}"` },
      { what: 'searching in it', 'longest task ms': searched },
    ],
    targets: [
      atMost('heap of the page with the log, MB', mb, 150),
      atMost('longest task while scrolling the log, ms', scrolled, shortTaskMs),
      says('new lines of the log are told', fresh, /312/),
    ],
  };
}

const says = (what: string, text: string, pattern: RegExp): Target => ({
  what,
  measured: pattern.test(text) ? 1 : 0,
  asked: '= 1',
  met: pattern.test(text),
});

/** A meeting with many turns, scrolled from its beginning on. */
export async function measureTurns(visit: Visit, turns: number): Promise<Findings> {
  await using stack = new AsyncDisposableStack();
  const context = await visit.fresh();
  stack.defer(() => context.close());
  const { sql, accountId, platform } = visit;
  const recorder = new Recorder({ url: visit.origin }, platform);
  const id = await fillThreeHours({ sql, accountId, recorder }, turns);
  const tab = await slowTab(context, { network: false });
  const devtools = await context.newCDPSession(tab);
  const began = performance.now();
  await tab.goto(`${visit.origin}/hub/transcripts/${id}`);
  await tab
    .locator('.turn')
    .nth(turns - 1)
    .waitFor({ state: 'attached' });
  const shownMs = performance.now() - began;
  await delay(1_000);
  const loading = await longestTask(tab);
  await tab.mouse.move(200, 400);
  await wheel(tab, 100, 600);
  const scrolled = await longestTask(tab);
  const { mb, nodes } = await memoryOfPage(devtools);
  return {
    rows: [
      { what: `meeting of ${turns} turns shown, CPU/4`, 'p50 ms': shownMs, 'longest task ms': loading },
      { what: 'scrolling in it', 'longest task ms': scrolled, 'heap MB': mb, nodes },
    ],
    targets: [atMost('longest task while scrolling a meeting, ms', scrolled, shortTaskMs)],
  };
}

async function wheel(tab: Page, times: number, px = wheelPx): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    await tab.mouse.wheel(0, px);
    await delay(wheelEveryMs);
  }
}

/** A run that a host of ours holds, and whose log it writes. */
async function runWithLog({ call, platform }: Visit) {
  const device = randomUUID();
  const schedule = {
    name: 'Backup',
    kind: 'agent',
    spec: { prompt: 'back up' },
    trigger: { type: 'interval', every_s: 86_400 },
  };
  const { id: scheduleId } = (await call('POST', '/v1/schedules', schedule)) as { id: string };
  await call('POST', `/v1/schedules/${scheduleId}/run`);
  const claimed = (await call('POST', '/v1/scheduler/claim', { wait_s: 20 }, device)) as {
    run: { id: string; attempt: number } | null;
  };
  if (!claimed.run) throw new Error('no run was to be had');
  const { id, attempt } = claimed.run;
  const beat = setInterval(
    () => void call('POST', `/v1/schedule-runs/${id}/heartbeat`, { attempt }, device).catch(() => {}),
    10_000,
  );
  let offset = 0;
  return {
    id,
    async write(text: string): Promise<void> {
      const answer = await fetch(
        `http://127.0.0.1:${platform.port}/v1/schedule-runs/${id}/log?attempt=${attempt}&offset=${offset}`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${platform.key}`, 'x-svc-device': device, 'content-type': 'text/plain' },
          body: text,
        },
      );
      if (!answer.ok) throw new Error(`a piece of a log: ${answer.status} ${await answer.text()}`);
      offset += Buffer.byteLength(text);
    },
    async close(): Promise<void> {
      clearInterval(beat);
      await call('POST', `/v1/schedule-runs/${id}/result`, { attempt, ok: true }, device);
    },
  };
}
