import { availableParallelism } from 'node:os';
import type { Heard } from '@svc/speech';
import { programPath } from '../../../../../../packages/programs/src/index.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { WorkFailed, Workers } from '../../../kernel/share/workers.ts';
import { longMs, ProviderFailure } from '../speech.errors.ts';
import type { Asking, KindHeard } from './kind.ts';
import type { SherpaWork } from './sherpa.work.ts';

const GiB = 1024 ** 3;
const options = {
  program: programPath(new URL('./sherpa.worker.ts', import.meta.url)),
  // A model uses all processors that it may: a second one beside it would only take memory.
  atOnce: 1,
  mostOfOne: 1,
  // The entry's own `total_s` ends it before.
  workMs: 3_600_000,
  mostHeapMiB: 1_024,
  mostResidentBytes: 8 * GiB,
  // It keeps its models for the next window.
  mostHeldBytes: 2 * GiB,
};

/** Processes that run sherpa-onnx: native code and its models cost a process, and never the gateway. */
export class SherpaWorkers {
  readonly #workers: Workers<SherpaWork, { hear: Heard }>;

  constructor(kernel: Pick<Kernel, 'clock' | 'log'>) {
    this.#workers = new Workers(kernel, options);
  }

  /** Hears a window; throws `WorkFailed`, or the signal's reason. */
  hear(work: SherpaWork, signal: AbortSignal): Promise<Heard> {
    return this.#workers.do('speech', work, signal);
  }

  /** Ends every process. */
  stop(): Promise<void> {
    return this.#workers.stop();
  }
}

/** Models of sherpa-onnx in a folder of this machine. Nothing leaves it. */
export async function sherpa({ entry, window, signal, workers }: Asking): Promise<KindHeard> {
  const work: SherpaWork = {
    kind: 'hear',
    file: window.file,
    modelDir: entry.modelDir ?? '',
    diarizes: entry.diarizes,
    threads: Math.min(8, Math.max(1, availableParallelism() - 1)),
    ...(window.language !== undefined && { language: window.language }),
  };
  try {
    return await workers.hear(work, signal);
  } catch (error) {
    if (!(error instanceof WorkFailed)) throw error;
    if (error.kind !== 'setup') throw new ProviderFailure(`its process failed: ${error.kind}`);
    // The worker's own words: what to install.
    throw new ProviderFailure(String(error.cause), { coolMs: longMs, final: true });
  }
}
