import { NodeFailure } from '@svc/sandboxd-api';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Clock } from '../../../kernel/base/clock.ts';

/**
 * A node that takes a connection and does not answer in time may only be slow, as its machine is. It counts as gone when it
 * has answered nothing for this long and to more than one question: where this process itself stood still, one question
 * took all that time. It is asked every 8 s meanwhile (5 s between two questions, 3 s for an answer).
 */
export const patienceMs = 15_000;

/** What answers at a node's address is not to be used: it is another one's, or serves another platform. */
export class NodeRefused extends Error {
  override name = 'NodeRefused';
}

/** For how long each node has answered nothing to this process. */
export class Lateness {
  readonly #clock: Clock;
  /** By node: when the first question that it has not answered was asked. A node that is also known is late. */
  readonly #firstMiss = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last question to a node was in vain. */
  misses(id: string): boolean {
    return this.#firstMiss.has(id);
  }

  /** It has answered, or is nobody's any more. */
  forget(id: string): void {
    this.#firstMiss.delete(id);
  }

  /** How long this process has missed a node, since `askedAt` when it did not until then. */
  missedMs(id: string, askedAt = this.#clock.monotonic()): number {
    const first = this.#firstMiss.get(id) ?? askedAt;
    this.#firstMiss.set(id, first);
    return this.#clock.monotonic() - first;
  }

  /** Whether a node that was asked in vain is known on: it was late, or what failed after its answer is the database. */
  covers(id: string, askedAt: number, error: unknown): boolean {
    const isNode = error instanceof NodeFailure;
    if (isNode ? !error.isLate : error instanceof ApiError || error instanceof NodeRefused) return false;
    const isFirst = !this.misses(id);
    return this.missedMs(id, askedAt) < patienceMs || isFirst;
  }
}
