import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { ExtractionError } from '@svc/extraction';
import { doWork, type Work } from './pages.work.ts';

/** What a worker says of one piece of work. */
export interface Said {
  readonly result?: unknown;
  /** Why there is none: the bytes are nothing that can be read. */
  readonly failed?: 'unsupported' | 'unreadable';
  readonly message?: string;
  /** Bytes that it still holds, for its owner to end a worker that has grown. */
  readonly heldBytes: number;
}

// One piece of work at a time: the owner sends the next one after the answer.
parentPort?.on('message', (work: Work) => {
  void doWork(work).then(
    (result) => say({ result }),
    (error: unknown) =>
      say({
        failed: error instanceof ExtractionError ? error.kind : 'unreadable',
        message: error instanceof Error ? error.message : String(error),
      }),
  );
});

function say(said: Omit<Said, 'heldBytes'>): void {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
  parentPort?.postMessage({ ...said, heldBytes: heap + external } satisfies Said);
}
