import { Worker } from 'node:worker_threads';
import type { Cancel } from '../../kernel/clock.ts';
import { FairTurns } from '../../kernel/fair-turns.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Results, Work } from './pages.work.ts';
import type { Said } from './pages.worker.ts';

/** Why a page cannot be read: it is nothing that has text, it is broken, or it takes too long or too much memory. */
export class UnreadableError extends Error {
  override name = 'UnreadableError';
  readonly kind: 'unsupported' | 'unreadable' | 'too_hard';

  constructor(kind: UnreadableError['kind'], cause?: unknown) {
    super(`the page cannot be read: ${kind}`, { cause });
    this.kind = kind;
  }
}

/** Workers at once: parsing is all processor. */
const most = 2;
/** A page of 3 MB takes 1 s; what takes longer was made to. */
const workMs = 5_000;
/** A worker without work ends after this: it holds 60 MB. */
const idleMs = 60_000;
/** A worker that holds more after its work is ended: its memory goes back to the system. */
const mostHeldBytes = 128 * 1024 * 1024;
const limits = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

interface Hand {
  readonly worker: Worker;
  cancelIdle: Cancel;
}

/**
 * Workers that read pages: hostile documents cost a worker, and never the gateway. They start with the first page; accounts
 * take turns.
 */
export class Pool {
  readonly #kernel: Pick<Kernel, 'clock' | 'log'>;
  readonly #turns = new FairTurns({ atOnce: most, mostOfOne: most, waitingOfOne: 64 });
  readonly #idle: Hand[] = [];
  readonly #all = new Set<Worker>();

  constructor(kernel: Pick<Kernel, 'clock' | 'log'>) {
    this.#kernel = kernel;
  }

  /** Workers that live; for tests and the metric. */
  get count(): number {
    return this.#all.size;
  }

  /** Does the work; throws `UnreadableError`, or the signal's reason when that ends the wait for a turn or the work. */
  async do<K extends Work['kind']>(
    accountId: string,
    work: Work & { kind: K },
    signal?: AbortSignal,
  ): Promise<Results[K]> {
    return this.#turns.run(accountId, async () => (await this.#ask(work, signal)) as Results[K], signal);
  }

  async #ask(work: Work, signal: AbortSignal | undefined): Promise<unknown> {
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
  async #answer(worker: Worker, work: Work, signal: AbortSignal | undefined): Promise<Said> {
    const { promise, resolve, reject } = Promise.withResolvers<Said>();
    const onError = (error: unknown): void => reject(new UnreadableError('too_hard', error));
    const onExit = (): void => reject(new UnreadableError('too_hard', 'the worker ended'));
    const onAbort = (): void => reject(signal?.reason as Error);
    const cancel = this.#kernel.clock.after(workMs, () => reject(new UnreadableError('too_hard', 'time')));
    worker.once('message', resolve);
    worker.once('error', onError);
    worker.once('exit', onExit);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
      worker.postMessage(work);
      return await promise;
    } finally {
      cancel();
      worker.off('message', resolve);
      worker.off('error', onError);
      worker.off('exit', onExit);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #start(): Hand {
    const worker = new Worker(new URL('./pages.worker.ts', import.meta.url), {
      resourceLimits: limits,
      // Nothing of the gateway's: no environment with its secrets.
      env: {},
      stdout: true,
      stderr: true,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#all.add(worker);
    worker.unref();
    // What a library prints is nobody's.
    worker.stdout.resume();
    worker.stderr.resume();
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
      this.#drop(hand.worker);
      void this.#end(hand.worker);
    });
    this.#idle.push(hand);
  }

  #drop(worker: Worker): void {
    const at = this.#idle.findIndex((hand) => hand.worker === worker);
    if (at !== -1) this.#idle.splice(at, 1)[0]?.cancelIdle();
  }

  async #end(worker: Worker): Promise<void> {
    await worker.terminate();
    this.#all.delete(worker);
  }

  /** Ends every worker; what they were at fails. */
  async stop(): Promise<void> {
    this.#idle.length = 0;
    await Promise.all([...this.#all].map(async (worker) => this.#end(worker)));
  }
}
