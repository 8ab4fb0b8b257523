import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Clock } from '../../kernel/base/clock.ts';
import { bareEnvironment } from './media.cage.ts';

const keptErrors = 4 * 1024;
/** Three hours of how loud eight channels are have 18 MB of lines. */
const mostOutput = 32 * 1024 * 1024;
const mostTail = 64 * 1024 * 1024;
const mostLine = 1_024;

/** How a program ended; `code` is null for one that a signal ended. */
export interface Ended {
  code: number | null;
  /** The first 4 KiB, or as much as was asked for, of what it said on standard error, and the last 4 KiB. */
  said: string;
}

/** How a program runs. */
export interface ProgramRun {
  ms: number;
  signal: AbortSignal;
  onLine: (line: string) => boolean | void;
  /** Bytes of the begin of what it says on standard error; 4 KiB. */
  kept?: number;
  /** Takes each line of it. */
  onSaid?: (line: string) => void;
  /** Of its lines only the last ones count: half a million of them are not worth a look each. */
  isTail?: true;
}

/** A program did not end by itself in its time. */
export class OutOfTime extends Error {
  override name = 'OutOfTime';
}

/** Runs programs and sees to it that none is left. */
export class Programs {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #running = new Set<ChildProcess>();
  readonly #stop = new AbortController();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Programs that run now. */
  get count(): number {
    return this.#running.size;
  }

  /** Ends all; what waits for one throws, and no other starts. */
  stop(): void {
    this.#stop.abort(new Error('the platform stops'));
  }

  /**
   * Runs a program without input to its end and hands over the lines of its output; `onLine` answers false to end it
   * early. Throws `OutOfTime` after `ms`, the signal's reason when that comes first, an error past 32 MiB of output. By
   * then the program and all that it started are gone.
   */
  async run(
    [program = '', ...args]: readonly string[],
    { ms, signal, onLine, onSaid, kept = keptErrors, isTail }: ProgramRun,
  ): Promise<Ended> {
    const ending = AbortSignal.any([signal, this.#stop.signal]);
    ending.throwIfAborted();
    // A group of its own: what it starts ends with it.
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      cwd: '/',
      env: bareEnvironment,
    });
    const closed = Promise.withResolvers<number | null>();
    child.once('error', closed.reject).once('close', closed.resolve);
    this.#running.add(child);
    let failure: unknown;
    const end = (reason: unknown): void => {
      failure ??= reason;
      killGroup(child);
    };
    const onAbort = (): void => end(ending.reason);
    ending.addEventListener('abort', onAbort);
    const cancel = this.#clock.after(ms, () => end(new OutOfTime('a program that reads recordings took too long')));
    try {
      const said = keepErrors(child, kept);
      if (onSaid && child.stderr) createInterface({ input: child.stderr, crlfDelay: Infinity }).on('line', onSaid);
      let isEnough = false;
      const enough = (): void => {
        isEnough = true;
        killGroup(child);
      };
      if (isTail) readTail(child, { onLine, end });
      else readLines(child, { onLine, enough, end });
      const code = await closed.promise;
      if (failure !== undefined) throw failure;
      return { code: isEnough ? 0 : code, said: said() };
    } finally {
      cancel();
      ending.removeEventListener('abort', onAbort);
      killGroup(child);
      this.#running.delete(child);
    }
  }
}

function readLines(
  child: ChildProcess,
  to: { onLine: (line: string) => boolean | void; enough: () => void; end: (reason: unknown) => void },
): void {
  if (!child.stdout) return;
  let bytes = 0;
  let isOver = false;
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostOutput && !isOver) {
      isOver = true;
      to.end(new Error('a program that reads recordings says too much'));
    }
  });
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => {
    if (isOver || to.onLine(line) !== false) return;
    isOver = true;
    to.enough();
  });
}

/** Hands over the last whole line of what came at a time. */
function readTail(
  child: ChildProcess,
  to: { onLine: (line: string) => boolean | void; end: (reason: unknown) => void },
): void {
  let bytes = 0;
  let rest = '';
  child.stdout?.setEncoding('latin1').on('data', (chunk: string) => {
    bytes += chunk.length;
    if (bytes > mostTail) to.end(new Error('a program that reads recordings says too much'));
    const said = rest + chunk;
    const end = said.lastIndexOf('\n');
    rest = said.slice(end + 1).slice(-mostLine);
    if (end >= 0) to.onLine(said.slice(said.lastIndexOf('\n', end - 1) + 1, end));
  });
}

/** A damaged file has thousands of lines: why the program ended stands in the last of them. */
function keepErrors(child: ChildProcess, kept: number): () => string {
  let said = '';
  let last = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    const room = kept - said.length;
    if (room > 0) said += chunk.slice(0, room);
    if (chunk.length > room) last = (last + chunk.slice(Math.max(0, room))).slice(-keptErrors);
  });
  return () => said + last;
}

/** Ends the group that the program leads; nothing when it never started or is gone. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
