import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cancel } from '../../kernel/base/clock.ts';
import { GivenBack, Share } from '../../kernel/share/share.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Results, PageWork } from './pages.work.ts';
import type { WorkerSaid } from './pages.worker.ts';

/** Why a page cannot be read: it is nothing that has text, it is broken, or it takes too long or too much memory. */
export class UnreadableError extends Error {
  override name = 'UnreadableError';
  readonly kind: 'unsupported' | 'unreadable' | 'too_hard';

  constructor(kind: UnreadableError['kind'], cause?: unknown) {
    super(`the page cannot be read: ${kind}`, { cause });
    this.kind = kind;
  }
}

/** Workers at once, each a process: what a thread leaves behind in memory stays with the gateway (1.7 GB after a few PDFs). */
const most = 3;
/** Workers guaranteed to an account. It may borrow all idle ones but one, and gives them back when another account asks. */
const mostOfOne = 1;
/** A page of 3 MB takes 1 s; what takes longer was made to. */
const workMs = 5_000;
/** A worker without work ends after this, as it holds 80 MB; one stays, as the next page would wait for its start. */
const idleMs = 60_000;
/** A worker that holds more after its work is ended. */
const mostHeldBytes = 128 * 1024 * 1024;
/** MiB of the heap. What stands outside of it, such as a PDF's streams, is watched: Node.js has no limit for it. */
const mostHeapMiB = 384;
const mostResidentBytes = 768 * 1024 * 1024;
const lookEveryMs = 100;
const pageBytes = 4_096;
const program = fileURLToPath(new URL('./pages.worker.ts', import.meta.url));

interface Hand {
  readonly worker: ChildProcess;
  cancelIdle: Cancel;
}

/**
 * Workers that read pages: hostile documents cost a worker, and never the gateway. They start with the first page; accounts
 * take turns.
 */
export class Pool {
  readonly #kernel: Pick<Kernel, 'clock' | 'log'>;
  readonly #turns = new Share({ total: most, ofOne: mostOfOne, waitingOfOne: 64, lends: true });
  readonly #idle: Hand[] = [];
  readonly #all = new Set<ChildProcess>();

  constructor(kernel: Pick<Kernel, 'clock' | 'log'>) {
    this.#kernel = kernel;
  }

  /** Workers that live; for tests and the metric. */
  get count(): number {
    return this.#all.size;
  }

  /** Does the work; throws `UnreadableError`, or the signal's reason when that ends the wait for a turn or the work. */
  async do<K extends PageWork['kind']>(
    accountId: string,
    work: PageWork & { kind: K },
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

  async #ask(work: PageWork, signal: AbortSignal | undefined): Promise<unknown> {
    signal?.throwIfAborted();
    const hand = this.#idle.pop() ?? this.#start();
    hand.cancelIdle();
    let isWell = false;
    try {
      const said = await this.#answer(hand.worker, work, signal);
      isWell = said.heldBytes <= mostHeldBytes;
      if (said.failed) throw new UnreadableError(said.failed, said.message);
      return said.result;
    } finally {
      if (isWell) this.#rest(hand);
      else await this.#end(hand.worker);
    }
  }

  /** The worker's answer; fails when it dies, takes too long or is called off. */
  async #answer(worker: ChildProcess, work: PageWork, signal: AbortSignal | undefined): Promise<WorkerSaid> {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerSaid>();
    const onError = (error: unknown): void => reject(new UnreadableError('too_hard', error));
    const onExit = (): void => reject(new UnreadableError('too_hard', 'the worker ended'));
    const onAbort = (): void => reject(signal?.reason as Error);
    const { clock } = this.#kernel;
    const cancel = clock.after(workMs, () => reject(new UnreadableError('too_hard', 'time')));
    const cancelLooks = clock.every(lookEveryMs, () => {
      if (residentBytes(worker.pid) > mostResidentBytes) reject(new UnreadableError('too_hard', 'memory'));
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
    const worker = fork(program, {
      // The worker gets nothing of the gateway: no environment with its secrets. Its output is dropped.
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${mostHeapMiB}`, '--stack-size=3000', '--disable-warning=ExperimentalWarning'],
    });
    this.#all.add(worker);
    worker.unref();
    worker.channel?.unref();
    worker.on('error', (err) => this.#kernel.log.debug({ err }, 'a worker that read a page ended'));
    worker.once('exit', () => {
      this.#all.delete(worker);
      this.#drop(worker);
    });
    return { worker, cancelIdle: () => {} };
  }

  #rest(hand: Hand): void {
    if (!this.#all.has(hand.worker)) return;
    hand.cancelIdle = this.#kernel.clock.after(idleMs, () => {
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
