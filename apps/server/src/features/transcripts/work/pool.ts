import { programPath } from '../../../../../../packages/programs/src/index.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Workers } from '../../../kernel/share/workers.ts';
import type { TranscriptWork, WorkResults } from './work.ts';

/** Processes that put transcripts together and write them as documents. */
export type TranscriptPool = Workers<TranscriptWork, WorkResults & Record<TranscriptWork['kind'], unknown>>;

/** Makes the pool; its processes start with the first work. */
export const openPool = (kernel: Pick<Kernel, 'clock' | 'log'>): TranscriptPool =>
  new Workers(kernel, {
    program: programPath(new URL('./worker.ts', import.meta.url)),
    atOnce: 2,
    mostOfOne: 1,
    // Three hours as a PDF of 150 pages take some seconds on a quiet machine.
    workMs: 120_000,
    mostHeapMiB: 768,
    mostResidentBytes: 1_280 * 1024 * 1024,
    mostHeldBytes: 256 * 1024 * 1024,
  });
