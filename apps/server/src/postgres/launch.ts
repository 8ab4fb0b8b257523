import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, fchownSync, openSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformUser } from '../root/user.ts';

/** How the server is started. */
interface Launching {
  binary: string;
  options: readonly string[];
  user: PlatformUser | undefined;
  /** Its output; appended to. */
  logFile: string;
}

const startTimeoutMs = 60_000;
/** Backends of a server that was killed hold its shared memory until they notice; until then a new one ends at once. */
const retryForMs = 10_000;
const firstRetryMs = 100;
const pollMs = 5;
const stopMs = 5_000;
const isHeld = /pre-existing shared memory block/;

/**
 * Starts the server and answers what `ready` answers once it is there. When it fails, the error says what the server
 * said last, and nothing that was started here is left running.
 */
export async function launch<T>(launching: Launching, ready: () => T | undefined): Promise<T> {
  const until = performance.now() + startTimeoutMs;
  const retryUntil = performance.now() + retryForMs;
  for (let wait = firstRetryMs; ; wait *= 2) {
    const begun = statSync(launching.logFile, { throwIfNoEntry: false })?.size ?? 0;
    const server = spawnServer(launching);
    const started = await waitFor(server.child, ready, until).catch(async (error: unknown) => {
      await end(server.child);
      throw error;
    });
    if (started !== undefined) return started;
    // The error of a failed spawn comes a turn later.
    await delay(0);
    const reason = server.fault() ?? lastWords(launching.logFile, begun);
    await end(server.child);
    if (!isHeld.test(reason) || performance.now() > retryUntil) {
      throw new Error(`Postgres did not start: ${reason} (${launching.logFile})`);
    }
    await delay(wait);
  }
}

/** Undefined when the server ended, or took too long. */
async function waitFor<T>(child: ChildProcess, ready: () => T | undefined, until: number): Promise<T | undefined> {
  for (;;) {
    const found = ready();
    if (found !== undefined) return found;
    if (hasEnded(child) || performance.now() > until) return undefined;
    await delay(pollMs);
  }
}

const hasEnded = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
  pid === undefined || exitCode !== null || signalCode !== null;

/** A server that was not ready in time would go on, and nobody would know of it. */
async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  // In the middle of a recovery it does not hear that; what it wrote so far is not lost by this.
  const harder = setTimeout(() => child.kill('SIGQUIT'), stopMs);
  await ended;
  clearTimeout(harder);
}

/** Starts the server in a session of its own: it outlives this process, and a Ctrl-C in the terminal is not for it. */
function spawnServer({ binary, options, user, logFile }: Launching) {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  // The platform's user owns it, and could have put a link to a file of root in its place.
  const log = openSync(logFile, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if (user) fchownSync(log, user.uid, user.gid);
  const stdio: StdioOptions = ['ignore', log, log];
  const child = spawn(binary, options, { ...user, detached: true, stdio, env: { PATH: '/usr/bin:/bin' } });
  closeSync(log);
  let fault: string | undefined;
  child.once('error', (error) => (fault = error.message));
  child.unref();
  return { child, fault: () => fault };
}

/** The last line of weight that the server wrote after `from`: what it died of, not what it said on its way out. */
function lastWords(logFile: string, from: number): string {
  const text = readFileSync(logFile).subarray(from).toString();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const fatal = lines.findLast((line) => /\b(?:FATAL|PANIC):/.test(line));
  // Its output has no level before its log is set up, and may take three lines.
  if (fatal === undefined) return lines.slice(-3).join(' ') || 'it said nothing';
  return fatal.replace(/^.*?\b(?:FATAL|PANIC): +/, '');
}
