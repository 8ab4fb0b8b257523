import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { ConnectionTiming } from '../connection.ts';
import { listSchedules, type ScheduleList } from '../schedules.ts';

/** How the account's schedules are followed. */
interface WatchOptions {
  client: Client;
  timing: ConnectionTiming;
  /** The schedules, after connecting and after changes; answers whether the times of runs matter to it. */
  onSchedules: (list: ScheduleList) => Promise<boolean>;
  /** A run moved to a state; without an id: the stream opened, and moves before it were not heard. */
  onRun: (run?: { id: string; state: string }) => void;
  /** The gateway was heard (true), or is not any more. */
  onReached: (reached: boolean) => Promise<void>;
  signal: AbortSignal;
}

/** Changes that come together are looked at once; runs are many and move only the next times. */
const changeMs = 300;
const runMs = 5_000;
/** Bytes come with every chunk: what is noted of them is noted this often. */
const noteMs = 5_000;

/** Follows the account's schedules until `signal` aborts, connecting again whatever happens. */
export async function watchSchedules(options: WatchOptions): Promise<void> {
  const backoff = createBackoff(...options.timing.retryMs);
  while (!options.signal.aborted) {
    const began = performance.now();
    // Why it ended is told by the hosts stream and the claims, which end for the same reasons.
    await watchOnce(options).catch(() => {});
    await options.onReached(false);
    if (performance.now() - began >= options.timing.stableMs) backoff.reset();
    await sleep(backoff.next(), undefined, { signal: options.signal }).catch(() => {});
  }
}

async function watchOnce(options: WatchOptions): Promise<void> {
  const attempt = new AbortController();
  const signal = AbortSignal.any([options.signal, attempt.signal]);
  const silence = setTimeout(() => attempt.abort(), options.timing.silenceMs);
  const refresh = createRefresh(options, signal, () => attempt.abort());
  let noted = Number.NEGATIVE_INFINITY;
  const onActivity = () => {
    silence.refresh();
    if (performance.now() - noted < noteMs) return;
    noted = performance.now();
    void options.onReached(true).catch(() => {});
  };
  try {
    // The stream first: a change between the two is then told by one of them.
    const onResponse = ({ status }: { status: number }) => void (status === 200 && options.onRun());
    const frames = options.client.schedules.stream({}, { signal, onActivity, onResponse });
    const first = frames.next();
    refresh.soon(0);
    for (let frame = await first; !frame.done; frame = await frames.next()) {
      if (frame.value.event === 'ready') continue;
      const { op, run_id: id, state } = frame.value.data;
      if (op === 'run' && id !== undefined) options.onRun({ id, state });
      if (op !== 'run') refresh.soon(changeMs);
      else if (refresh.timesMatter()) refresh.soon(runMs);
    }
  } finally {
    clearTimeout(silence);
    refresh.stop();
    attempt.abort();
  }
}

/** Lists the schedules a while after it was asked to, one listing at a time. */
function createRefresh({ client, onSchedules, onReached }: WatchOptions, signal: AbortSignal, onFailure: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let busy = false;
  let times = false;
  const look = async (): Promise<void> => {
    dueAt = Number.POSITIVE_INFINITY;
    if (busy) return soon(changeMs);
    busy = true;
    try {
      const list = await listSchedules(client, signal);
      await onReached(true);
      times = await onSchedules(list);
    } catch {
      onFailure();
    } finally {
      busy = false;
    }
  };
  const soon = (ms: number): void => {
    const at = performance.now() + ms;
    if (at >= dueAt || signal.aborted) return;
    dueAt = at;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), ms);
  };
  return { soon, stop: () => clearTimeout(timer), timesMatter: () => times };
}
