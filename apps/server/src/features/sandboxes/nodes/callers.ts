import type { Kernel } from '../../../kernel/kernel.ts';

/** The commands and cells that run for callers of this gateway. */
export class CallersCommands {
  readonly #kernel: Kernel;
  readonly #running = new Map<AbortController, PromiseWithResolvers<void>>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** One begins: its signal aborts when this gateway stops; `end` is to be called once its caller has its answer. */
  begin(): { stopping: AbortSignal; end: () => void } {
    const abort = new AbortController();
    const done = Promise.withResolvers<void>();
    this.#running.set(abort, done);
    return {
      stopping: abort.signal,
      end: () => {
        this.#running.delete(abort);
        done.resolve();
      },
    };
  }

  /** Lets them end for so long, then ends them and waits until their callers know. */
  async drain(ms: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#kernel.clock.after(ms, late.resolve);
    const ended = () => Promise.all([...this.#running.values()].map(({ promise }) => promise));
    await Promise.race([late.promise, ended()]);
    cancel();
    for (const abort of this.#running.keys()) abort.abort();
    await ended();
  }
}
