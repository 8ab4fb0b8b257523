import { programPath } from '../../../../../packages/programs/src/index.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { WorkFailed, Workers } from '../../kernel/share/workers.ts';
import type { PageWork, Results } from './pages.work.ts';

/** Why a page cannot be read: it is nothing that has text, it is broken, or it takes too long or too much memory. */
export class UnreadableError extends Error {
  override name = 'UnreadableError';
  readonly kind: 'unsupported' | 'unreadable' | 'too_hard';

  constructor(kind: UnreadableError['kind'], cause?: unknown) {
    super(`the page cannot be read: ${kind}`, { cause });
    this.kind = kind;
  }
}

const options = {
  program: programPath(new URL('./pages.worker.ts', import.meta.url)),
  atOnce: 3,
  mostOfOne: 1,
  // A page of 3 MB takes 1 s; what takes longer was made to.
  workMs: 5_000,
  mostHeapMiB: 384,
  mostResidentBytes: 768 * 1024 * 1024,
  mostHeldBytes: 128 * 1024 * 1024,
};

/** Workers that read pages: hostile documents cost a worker, and never the gateway. */
export class Pool {
  readonly #workers: Workers<PageWork, Results>;

  constructor(kernel: Pick<Kernel, 'clock' | 'log'>) {
    this.#workers = new Workers(kernel, options);
  }

  /** Workers that live; for tests and the metric. */
  get count(): number {
    return this.#workers.count;
  }

  /** Does the work; throws `UnreadableError`, or the signal's reason when that ends the wait for a turn or the work. */
  async do<K extends PageWork['kind']>(
    accountId: string,
    work: PageWork & { kind: K },
    signal?: AbortSignal,
  ): Promise<Results[K]> {
    try {
      return await this.#workers.do<K>(accountId, work, signal);
    } catch (error) {
      if (!(error instanceof WorkFailed)) throw error;
      throw new UnreadableError(error.kind as UnreadableError['kind'], error.cause);
    }
  }

  /** Ends every worker; what they were at fails. */
  stop(): Promise<void> {
    return this.#workers.stop();
  }
}
