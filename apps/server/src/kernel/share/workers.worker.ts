import { constants, setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** A worker's answer to one piece of work. */
export interface WorkerSaid {
  readonly result?: unknown;
  /** Why `result` is missing. */
  readonly failed?: string;
  readonly message?: string;
  /** Bytes that it still holds, for its owner to end a worker that has grown. */
  readonly heldBytes: number;
}

/**
 * The whole of a worker's program: does each piece of work that its owner sends, one at a time. `kindOf` names what was wrong
 * with work that threw.
 */
export function serveWork(doWork: (work: never) => Promise<unknown>, kindOf: (error: unknown) => string): void {
  // Requests come before documents: with a core each for two of these, `/health` took 350 ms at p99 (bench/transcripts.ts).
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  // The owner sends the next piece after the answer.
  process.on('message', (work) => {
    void doWork(work as never).then(
      (result) => say({ result }),
      (error: unknown) =>
        say({ failed: kindOf(error), message: error instanceof Error ? error.message : String(error) }),
    );
  });
  // Its owner is gone.
  process.on('disconnect', () => process.exit(0));
}

function say(said: Omit<WorkerSaid, 'heldBytes'>): void {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  process.send?.({ ...said, heldBytes: heap + external } satisfies WorkerSaid);
}
