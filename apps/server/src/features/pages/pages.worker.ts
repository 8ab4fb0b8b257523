import { getHeapStatistics } from 'node:v8';
import { ExtractionError } from '@svc/extraction';
import { doWork, type PageWork } from './pages.work.ts';

/** A worker's answer to one piece of work. */
export interface WorkerSaid {
  readonly result?: unknown;
  /** Why `result` is missing: the bytes cannot be read. */
  readonly failed?: 'unsupported' | 'unreadable';
  readonly message?: string;
  /** Bytes that it still holds, for its owner to end a worker that has grown. */
  readonly heldBytes: number;
}

// One piece of work at a time: the owner sends the next one after the answer.
process.on('message', (work: PageWork) => {
  void doWork(work).then(
    (result) => say({ result }),
    (error: unknown) =>
      say({
        failed: error instanceof ExtractionError ? error.kind : 'unreadable',
        message: error instanceof Error ? error.message : String(error),
      }),
  );
});
// Its owner is gone.
process.on('disconnect', () => process.exit(0));

function say(said: Omit<WorkerSaid, 'heldBytes'>): void {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  process.send?.({ ...said, heldBytes: heap + external } satisfies WorkerSaid);
}
