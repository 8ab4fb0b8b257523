import { constants, getPriority, setPriority } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** A worker's answer to one piece of work. */
export interface WorkerSaid {
  readonly result?: unknown;
  /** Why `result` is missing. */
  readonly failed?: string;
  readonly message?: string;
  /** Bytes that it still holds, for its owner to end a worker that has grown. */
  readonly heldBytes: number;
  /** With its first answer: why it could not yield to others. */
  readonly unyielding?: string;
}

/**
 * The whole of a worker's program: does each piece of work that its owner sends, one at a time. `kindOf` names what was wrong
 * with work that threw.
 */
export function serveWork(doWork: (work: never) => Promise<unknown>, kindOf: (error: unknown) => string): void {
  // Requests come before documents: with a core each for two of these, `/health` took 350 ms at p99 (bench/transcripts.ts).
  unyielding = yieldToOthers();
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

/** Why this worker could not yield; told once. */
let unyielding: string | undefined;

/**
 * Takes a lower priority, and never a better one than that of the platform, which somebody may have started with
 * `nice`.
 * Answers why the system refused.
 */
function yieldToOthers(): string | undefined {
  const wanted = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
    if (getPriority() < wanted) setPriority(wanted);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function say(said: Omit<WorkerSaid, 'heldBytes'>): void {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  const notice = unyielding === undefined ? {} : { unyielding };
  unyielding = undefined;
  process.send?.({ ...said, heldBytes: heap + external, ...notice } satisfies WorkerSaid);
}
