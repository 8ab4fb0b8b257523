import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Cancel, Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { GivenBack, Share } from './share.ts';
import type { WorkerSaid } from './workers.worker.ts';

/** How a pool of workers is cut. */
interface WorkersOptions {
  /** The file that runs in each worker: it calls `serveWork` once. */
  readonly program: string;
  /** Workers at once, each a process: what a thread leaves behind in memory stays with the gateway (1.7 GB after a few PDFs). */
  readonly atOnce: number;
  /** Workers guaranteed to an account. It may borrow all idle ones but one, and gives them back when another account asks. */
  readonly mostOfOne: number;
  /**
   * Milliseconds of a processor that a piece of work may take: workers yield to requests, so that time alone says nothing of
   * it on a busy machine. In time it may take four times as much, and once where the system tells no processor time.
   */
  readonly workMs: number;
  /** MiB of a worker's heap. */
  readonly mostHeapMiB: number;
  /** Bytes of memory of a worker: what stands outside of its heap is watched, as Node.js has no limit for it. */
  readonly mostResidentBytes: number;
  /** A worker that holds more after its work is ended. */
  readonly mostHeldBytes: number;
}

/** Why a worker gave no result. */
export class WorkFailed extends Error {
  override name = 'WorkFailed';
  /** The worker's own word for what was wrong; `too_hard`: it took too long or too much memory, or died. */
  readonly kind: string;

  constructor(kind: string, cause?: unknown) {
    super(`the work failed: ${kind}`, { cause });
    this.kind = kind;
  }
}

/** Work that waits of one account; more is refused. */
const waitingOfOne = 64;
/** A worker without work ends after this, as it holds 80 MB; one stays, as the next work would wait for its start. */
const idleMs = 60_000;
const lookEveryMs = 100;
const pageBytes = 4_096;
/** In a unit that Linux shows to programs alike on every machine. */
const tickMs = 10;
const timesLonger = 4;

interface Hand {
  readonly worker: ChildProcess;
  cancelIdle: Cancel;
}

/**
 * Processes for work that would block the event loop or that a stranger's input may blow up: such input costs a worker, and
 * never the gateway. They start with the first work; accounts take turns. `Results` names the result of each kind of work.
 */
export class Workers<Work extends { readonly kind: string }, Results extends Record<Work['kind'], unknown>> {
  readonly #options: WorkersOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #turns: Share;
  readonly #idle: Hand[] = [];
  readonly #all = new Set<ChildProcess>();
  #isTold = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, options: WorkersOptions) {
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#turns = new Share({ total: options.atOnce, ofOne: options.mostOfOne, waitingOfOne, lends: true });
  }

  /** Workers that live; for tests and metrics. */
  get count(): number {
    return this.#all.size;
  }

  /** Does the work; throws `WorkFailed`, or the signal's reason when that ends the wait for a turn or the work. */
  async do<K extends Work['kind']>(
    accountId: string,
    work: Work & { kind: K },
    signal?: AbortSignal,
  ): Promise<Results[K]> {
    for (;;) {
      try {
        return await this.#turns.run(
          accountId,
          async (takenBack) => {
            const signals = [signal, takenBack].filter((one) => one !== undefined);
            return (await this.#ask(work, signals.length > 0 ? AbortSignal.any(signals) : undefined)) as Results[K];
          },
          signal,
        );
      } catch (error) {
        // The work is done again when its turn comes.
        if (!(error instanceof GivenBack)) throw error;
      }
    }
  }

  async #ask(work: Work, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    const hand = this.#idle.pop() ?? this.#start();
    hand.cancelIdle();
    let isWell = false;
    try {
      const said = await this.#answer(hand.worker, work, signal);
      isWell = said.heldBytes <= this.#options.mostHeldBytes;
      this.#tell(said.unyielding);
      if (said.failed !== undefined) throw new WorkFailed(said.failed, said.message);
      return said.result;
    } finally {
      if (isWell) this.#rest(hand);
      else await this.#end(hand.worker);
    }
  }

  /** Says once that workers have the priority of the platform: requests may wait for documents. */
  #tell(unyielding: string | undefined): void {
    if (unyielding === undefined || this.#isTold) return;
    this.#isTold = true;
    this.#log.warn({ reason: unyielding }, 'the system lets no worker yield to requests');
  }

  /** The worker's answer; fails when it dies, takes too long or is called off. */
  async #answer(worker: ChildProcess, work: Work, signal: AbortSignal | undefined): Promise<WorkerSaid> {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerSaid>();
    const onError = (error: unknown): void => reject(new WorkFailed('too_hard', error));
    const onExit = (): void => reject(new WorkFailed('too_hard', 'the worker ended'));
    const onAbort = (): void => reject(signal?.reason as Error);
    const { workMs, mostResidentBytes } = this.#options;
    const tookBefore = processorMs(worker.pid);
    const mostMs = tookBefore === undefined ? workMs : timesLonger * workMs;
    const cancel = this.#clock.after(mostMs, () => reject(new WorkFailed('too_hard', 'time')));
    const cancelLooks = this.#clock.every(lookEveryMs, () => {
      if (residentBytes(worker.pid) > mostResidentBytes) reject(new WorkFailed('too_hard', 'memory'));
      const tookMs = (processorMs(worker.pid) ?? 0) - (tookBefore ?? 0);
      if (tookMs > workMs) reject(new WorkFailed('too_hard', 'processor time'));
    });
    worker.once('message', resolve);
    worker.once('error', onError);
    worker.once('exit', onExit);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      worker.send(work);
      return await promise;
    } finally {
      cancel();
      cancelLooks();
      worker.off('message', resolve);
      worker.off('error', onError);
      worker.off('exit', onExit);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #start(): Hand {
    const { program, mostHeapMiB } = this.#options;
    const worker = fork(program, {
      // The worker gets nothing of the gateway: no environment with its secrets. Its output is dropped.
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${mostHeapMiB}`, '--stack-size=3000', '--disable-warning=ExperimentalWarning'],
    });
    this.#all.add(worker);
    worker.unref();
    worker.channel?.unref();
    worker.on('error', (err) => this.#log.debug({ err }, 'a worker ended'));
    worker.once('exit', () => {
      this.#all.delete(worker);
      this.#drop(worker);
    });
    return { worker, cancelIdle: () => {} };
  }

  #rest(hand: Hand): void {
    if (!this.#all.has(hand.worker)) return;
    hand.cancelIdle = this.#clock.after(idleMs, () => {
      if (this.#all.size === 1) return;
      this.#drop(hand.worker);
      void this.#end(hand.worker);
    });
    this.#idle.push(hand);
  }

  #drop(worker: ChildProcess): void {
    const at = this.#idle.findIndex((hand) => hand.worker === worker);
    if (at !== -1) this.#idle.splice(at, 1)[0]?.cancelIdle();
  }

  async #end(worker: ChildProcess): Promise<void> {
    if (worker.exitCode === null && worker.signalCode === null && worker.pid !== undefined) {
      const ended = once(worker, 'exit');
      worker.kill('SIGKILL');
      await ended;
    }
    this.#all.delete(worker);
  }

  /** Ends every worker; what they were at fails. */
  async stop(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#all].map(async (worker) => this.#end(worker)));
  }
}

/** Memory of a process, as far as this system tells; 0 where it does not. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * pageBytes;
  } catch {
    return 0;
  }
}

/**
 * Milliseconds of a processor that a process's own thread has had, without those that collect its garbage; undefined where
 * this system does not tell.
 */
function processorMs(pid: number | undefined): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
    // A program's name may hold blanks and brackets: what follows the last one is numbers.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return (Number(user) + Number(system)) * tickMs;
  } catch {
    return undefined;
  }
}
