import type { Cancel, Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Pulse } from './pulse.ts';

/** A loop without a period tries what failed again after this. */
const retryMs = 1_000;

/** Work that runs once at a time, now and then and when it is woken. */
export interface Loop {
  /** Runs now; when it runs already, once more right after. Does nothing after `stop`. */
  wake(): void;
  /** Starts no further run, and resolves when the one under way has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` every `everyMs` (unset: never by itself) and at each `wake`, never twice at the same time. `work` may answer
 * in how many milliseconds it wants to run next, when that is sooner. A failure is logged with `name`; the next run comes
 * in its time. The first run is the first wake or the first period, whichever is earlier. The process counts as a worker
 * only while its loops that are `isVital` turn: a run of one of them takes seconds, never minutes.
 */
export function startLoop(
  { clock, log, pulse }: { clock: Clock; log: Log; pulse?: Pulse },
  options: { name: string; everyMs?: number; isVital?: boolean; work: () => Promise<number | void> },
): Loop {
  const { name, everyMs, isVital = false, work } = options;
  const beat = isVital ? pulse?.watch(name, everyMs ?? retryMs) : undefined;
  let running: Promise<void> | undefined;
  let isWoken = false;
  let isStopped = false;
  let cancelEarly: Cancel = () => {};

  async function run(): Promise<void> {
    for (;;) {
      isWoken = false;
      cancelEarly();
      try {
        // `try`: a throw before the first await is a failure like others.
        const nextMs = await Promise.try(work);
        beat?.turned();
        if (typeof nextMs === 'number' && nextMs < (everyMs ?? Infinity) && !isStopped)
          cancelEarly = clock.after(nextMs, wake);
      } catch (err) {
        log.warn({ err, loop: name }, 'a loop failed; it runs again in its time');
        // Woken or not: what fails at once must not run in circles.
        isWoken = false;
        if (!isStopped) cancelEarly = clock.after(everyMs ?? retryMs, wake);
      }
      if (!isWoken || isStopped) break;
    }
    running = undefined;
  }

  function wake(): void {
    if (isStopped) return;
    isWoken = true;
    running ??= run();
  }

  const cancelPeriod: Cancel = everyMs === undefined ? () => {} : clock.every(everyMs, wake);
  return {
    wake,
    async stop() {
      isStopped = true;
      cancelPeriod();
      cancelEarly();
      await running;
      beat?.end();
    },
  };
}
