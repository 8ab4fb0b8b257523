import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { OpError } from '../failure.ts';
import { drained, type Ended, exitOrEnd, type ProcessGroups, readOn } from '../groups.ts';

/** A command of a run: it starts only once it is written down, and does not outlive the daemon. */
interface GuardedCommand {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Text for standard input; empty when undefined. */
  input: string | undefined;
  /** Ends the whole group when it aborts: SIGTERM, then SIGKILL after `killAfterMs`. */
  signal: AbortSignal;
  killAfterMs: number;
  groups: ProcessGroups;
  /** Writes the process down; the command itself starts when this has resolved, and never when it rejects. */
  onStarted: (pid: number) => Promise<void>;
  /** Standard output and error, in the order they were written. */
  onOutput: (chunk: Buffer) => void;
}

/** How a guarded command ended. */
interface GuardedResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** It was ended by `signal` of the call before it ended by itself. */
  ended: Ended | undefined;
}

/**
 * Holds descriptor 3 to the daemon. Without a word on it (the daemon was killed before it wrote the process down) the
 * command never starts. When it closes (a limit ended the run, or the daemon was killed with -9) all that is left of the
 * group is killed: by a member of the group, so that the number cannot be anyone else's by then. A second word says that the
 * command ended by itself: what it left in the background stays.
 */
const gate = `exec 2>&1
read -r go <&3 || exit 125
( { read -r over <&3 || kill -s KILL 0; } </dev/null >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`;

/** Runs a command in a process group of its own; rejects with the system's error when it cannot be started. */
export async function runGuarded(command: GuardedCommand): Promise<GuardedResult> {
  if (command.signal.aborted) throw new OpError(String(command.signal.reason));
  const child = spawn('/bin/sh', ['-c', gate, 'svc-run', command.file, ...command.args], {
    cwd: command.cwd,
    env: command.env,
    detached: true,
    stdio: [command.input === undefined ? 'ignore' : 'pipe', 'pipe', 'ignore', 'pipe'],
  });
  const output = child.stdout as Readable;
  const line = child.stdio[3] as Duplex;
  // The process on the other side may be killed at any time: its exit tells how it ended.
  for (const stream of [output, line, child.stdin]) stream?.on('error', () => {});
  line.resume();
  output.on('data', command.onOutput);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const group = child.pid;
  if (group === undefined) {
    const [error] = await once(child, 'error');
    throw error;
  }
  command.groups.add(group);
  try {
    const ended = await live(child, group, line, command);
    // The rest of the group goes with its end, and with that whatever kept the output open.
    if (ended) line.destroy();
    else await new Promise<void>((resolve) => line.end('over\n', () => resolve()));
    await Promise.race([closed, drained()]);
    return { code: child.exitCode, signal: child.signalCode, ended: ended && withoutGuard(ended) };
  } finally {
    line.destroy();
    readOn(output);
    command.groups.delete(group);
  }
}

/** The member of the group that waits for the end of the line is ours; before the command begins it is not there. */
const withoutGuard = ({ processes = 0 }: Ended): Ended => ({ processes: processes > 1 ? processes - 1 : undefined });

async function live(
  child: ChildProcess,
  group: number,
  line: Writable,
  command: GuardedCommand,
): Promise<Ended | undefined> {
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await command.onStarted(group);
  if (!command.signal.aborted) {
    line.write('go\n');
    child.stdin?.end(command.input);
  }
  return exitOrEnd(exited, group, command);
}
