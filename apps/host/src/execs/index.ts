import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pruneRecords } from '../records.ts';
import { runTiming } from '../runs/lease.ts';
import { openExecs } from './journal.ts';
import { ExecRunner, type ExecsOptions } from './runner.ts';

/** The part of the daemon that does commands by itself. */
interface ExecsPart extends Pick<ExecRunner, 'take' | 'cancel' | 'refuse'> {
  /** Takes no more, within `mostStopMs`; processes go on, and the next daemon with them. */
  stop(): Promise<void>;
}

const mostStopMs = 3_500;

/** Starts to take commands; first, it goes on with those of an earlier daemon. */
export async function startExecs(
  options: Omit<ExecsOptions, 'journal' | 'directory' | 'timing' | 'signal'> & { stateDir: string },
): Promise<ExecsPart> {
  const end = new AbortController();
  const directory = join(options.stateDir, 'execs');
  const journal = await openExecs(directory);
  await pruneRecords(directory);
  const runner = new ExecRunner({ ...options, journal, directory, timing: runTiming, signal: end.signal });
  await runner.recover();
  return {
    take: (frame) => runner.take(frame),
    cancel: (id) => runner.cancel(id),
    refuse: () => runner.refuse(),
    async stop() {
      await Promise.race([runner.stop(), sleep(mostStopMs, undefined, { ref: false })]);
      end.abort();
    },
  };
}
