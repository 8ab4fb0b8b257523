import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from './kernel/base/clock.ts';
import type { Log } from './kernel/base/log.ts';

const againAfterMs = { least: 500, most: 30_000 };
/** One that ran this long was well. */
const wellAfterMs = 10_000;
/** It lets commands end that somebody waits for. */
const stopMs = 9_000;

/** A node agent that is kept running. */
export interface Supervised {
  /** Ends the agent; its sandboxes go on. */
  stop(): Promise<void>;
}

/**
 * Runs the node agent of this machine as a process of its own, and starts it again when it ends. `env`: its environment; by default
 * that of this process.
 */
export function superviseSandboxd(
  args: readonly string[],
  { clock, log, env }: { clock: Clock; log: Log; env: NodeJS.ProcessEnv | undefined },
): Supervised {
  let child: ChildProcess | undefined;
  let stopped = false;
  let wait = againAfterMs.least;
  let cancel = (): void => {};
  const start = (): void => {
    const begun = clock.monotonic();
    // It ends with the pipe: a gateway that is killed leaves none behind that the next one would meet.
    child = spawn(process.execPath, args, { cwd: '/', stdio: ['pipe', 'ignore', 'inherit'], ...(env && { env }) });
    let over = false;
    const again = (code: unknown, signal?: unknown): void => {
      if (stopped || over) return;
      over = true;
      if (clock.monotonic() - begun > wellAfterMs) wait = againAfterMs.least;
      log.warn({ code, signal, again_ms: wait }, 'the sandbox node agent ended; it is started again');
      cancel = clock.after(wait, start);
      wait = Math.min(wait * 2, againAfterMs.most);
    };
    child.once('error', again).once('exit', again);
  };
  start();
  return {
    async stop() {
      stopped = true;
      cancel();
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const kill = clock.after(stopMs, () => child?.kill('SIGKILL'));
      await ended;
      kill();
    },
  };
}
