import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import { listenOnce } from './listen.ts';
import { openTaken } from './journal.ts';
import { PromptRunner, type PromptsOptions } from './prompts.ts';

/** The part of the daemon that runs prompts which are sent to this machine. */
interface SessionsPart {
  /** Takes no more, ends what runs and reports it, within `mostStopMs`. */
  stop(): Promise<void>;
}

/** A stop takes at most this long; the next daemon reports the rest from the journal. */
const mostStopMs = 3_500;

/** Starts to listen; first, what an earlier daemon left is reported, or run if it never started. */
export async function startSessions(
  options: Omit<PromptsOptions, 'taken' | 'signal'> & { stateDir: string },
): Promise<SessionsPart> {
  const stopping = new AbortController();
  const end = new AbortController();
  const taken = await openTaken(join(options.stateDir, 'prompts'));
  const runner = new PromptRunner({ ...options, taken, signal: end.signal });
  await runner.recover();
  const listening = listen(options, runner, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await Promise.race([runner.stop(), sleep(mostStopMs, undefined, { ref: false })]);
      end.abort();
      await listening;
    },
  };
}

/** Follows the device's controls until `signal` aborts, connecting again whatever happens. */
async function listen(
  { client, timing }: Pick<PromptsOptions, 'client' | 'timing'>,
  runner: PromptRunner,
  signal: AbortSignal,
): Promise<void> {
  const backoff = createBackoff(...timing.retryMs);
  while (!signal.aborted) {
    const began = performance.now();
    // Why it ended is told by the hosts stream, which ends for the same reasons.
    await listenOnce({
      client,
      timing,
      signal,
      onOpen: () => runner.admit(),
      onControl: (control) => runner.take(control),
    }).catch((error: unknown) => {
      if (error instanceof SvcError && [401, 402, 403].includes(error.status)) runner.refuse(error.message);
    });
    if (performance.now() - began >= timing.stableMs) backoff.reset();
    await sleep(backoff.next(), undefined, { signal }).catch(() => {});
  }
}
