import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { OpError } from './failure.ts';
import { membersIn } from './records.ts';

/** The process groups that run now, so that none outlives the daemon. */
export interface ProcessGroups {
  add(group: number): void;
  delete(group: number): void;
  /** Kills every group at once; synchronous, for the exit of the process. */
  killAll(): void;
}

/** Makes the register of running process groups. */
export function createProcessGroups(): ProcessGroups {
  const groups = new Set<number>();
  return {
    add: (group) => void groups.add(group),
    delete: (group) => void groups.delete(group),
    killAll: () => {
      for (const group of groups) signalGroup(group, 'SIGKILL');
    },
  };
}

/** A command to run in a process group of its own. */
interface GroupCommand {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** For standard input; empty when undefined. */
  input?: Buffer | undefined;
  /** Ends the whole group when it aborts: SIGTERM, then SIGKILL after `killAfterMs`. */
  signal: AbortSignal;
  /** Bytes kept of each of the two streams; the rest is read and dropped. */
  keepBytes: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  killAfterMs: number;
  groups: ProcessGroups;
}

/** The beginning of a stream. */
export interface Kept {
  bytes: Buffer;
  /** There was more. */
  cut: boolean;
}

/** How a group ended. */
export interface GroupResult {
  /** Exit code of the command, null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: Kept;
  stderr: Kept;
  /** It was ended by `signal` of the call before it ended by itself. */
  ended: Ended | undefined;
}

/** What a limit ended. */
export interface Ended {
  /** How many processes the group had; undefined where the system does not show them. */
  processes: number | undefined;
}

/** How long a pipe may stay open after the command is gone: what it wrote is there, a survivor may hold it for ever. */
const drainMs = 200;
/** How long a killed command may take to be gone: one that waits for a dead disk never is. */
const goneMs = 1000;
const pollMs = 20;

/** Runs a command; rejects with the system's error when it cannot be started. */
export async function runGroup(command: GroupCommand): Promise<GroupResult> {
  if (command.signal.aborted) throw new OpError('timeout');
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: command.env,
    detached: true,
    stdio: [command.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  // Typed as if there were none when the input is chosen late.
  const [output, errors] = [child.stdout as Readable, child.stderr as Readable];
  const stdout = keep(output, command.keepBytes);
  const stderr = keep(errors, command.keepBytes);
  // A command may end without reading it.
  child.stdin?.on('error', () => {}).end(command.input);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const group = child.pid;
  if (group === undefined) {
    const [error] = await once(child, 'error');
    throw error;
  }
  command.groups.add(group);
  let ended: Ended | undefined;
  try {
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    ended = await exitOrEnd(exited, group, command);
    await Promise.race([closed, drained()]);
    return { code: child.exitCode, signal: child.signalCode, stdout: stdout(), stderr: stderr(), ended };
  } finally {
    for (const stream of [output, errors]) readOn(stream);
    command.groups.delete(group);
  }
}

/**
 * Reads what the background of a command still writes, as long as this process lives, and keeps nothing of it: a pipe
 * without a reader would end who writes.
 */
export function readOn(stream: Readable): void {
  stream.removeAllListeners('data');
  stream.resume();
  // It holds up no end of this process.
  (stream as Socket).unref();
}

/**
 * Waits until the command exits, or until its group is ended because the signal aborted; then answers what that ended.
 */
export async function exitOrEnd(
  exited: Promise<void>,
  group: number,
  command: Pick<GroupCommand, 'signal' | 'killAfterMs'>,
): Promise<Ended | undefined> {
  const { signal } = command;
  const aborted = Promise.withResolvers<boolean>();
  const onAbort = () => aborted.resolve(true);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    if (!(await Promise.race([exited.then(() => false), aborted.promise]))) return undefined;
    const processes = membersIn(group)?.length;
    await endGroup(group, command.killAfterMs);
    await Promise.race([exited, sleep(goneMs, undefined, { ref: false })]);
    return { processes };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** SIGTERM, then SIGKILL for what is left of the group after `killAfterMs`. */
export async function endGroup(group: number, killAfterMs: number): Promise<void> {
  const deadline = performance.now() + killAfterMs;
  let alive = signalGroup(group, 'SIGTERM');
  // Polled, so that a number that became free is not signalled later, when it may be someone else's.
  while (alive && performance.now() < deadline) {
    await sleep(pollMs);
    alive = signalGroup(group, 0);
  }
  if (alive) signalGroup(group, 'SIGKILL');
}

/** False when the group has no process left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Time for what is still in the pipe, counted in turns of the event loop as well: it may have been held up. */
export async function drained(): Promise<void> {
  await sleep(drainMs, undefined, { ref: false });
  await new Promise((resolve) => setImmediate(resolve));
}

/** Keeps the first `limit` bytes of `stream`, which goes on being read so that the writer is never blocked. */
function keep(stream: Readable, limit: number): () => Kept {
  const chunks: Buffer[] = [];
  let kept = 0;
  let cut = false;
  stream.on('data', (chunk: Buffer) => {
    const room = limit - kept;
    if (chunk.length > room) cut = true;
    if (room <= 0) return;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    chunks.push(part);
    kept += part.length;
  });
  // A pipe that breaks while the group is killed says nothing worth knowing.
  stream.on('error', () => {});
  return () => ({ bytes: Buffer.concat(chunks, kept), cut });
}
