import { type Broadcast, createBroadcast } from '../../kernel/peers/broadcast.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { EventStream } from '../../kernel/http/sse.ts';
import type { Change } from '../schedules/index.ts';

export type { Change } from '../schedules/index.ts';

interface Message {
  account: string;
  changes: Change[];
  /** Something became claimable. */
  wake: boolean;
}

/** Postgres carries 8,000 bytes a message; a change has at most 190. */
const changesPerMessage = 40;

/**
 * Changes of schedules and runs, for every gateway: open streams get a frame, claims that wait and the loops of this
 * process look again. Rows stay the truth: who misses a message looks again within 2 s.
 */
export class Changes {
  readonly #kernel: Kernel;
  readonly #broadcast: Broadcast<Message>;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #wakers = new Set<() => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#broadcast = createBroadcast(kernel, 'schedules.changed');
  }

  /** Listens to all gateways. */
  start(): Promise<void> {
    return this.#broadcast.start((message) => this.#deliver(message));
  }

  /** Sends changes of an account once `db` is committed. `wake`: claims that wait look again, also without a change. */
  async publish(db: Db, account: string, changes: readonly Change[], wake: boolean): Promise<void> {
    for (let from = 0; from < Math.max(changes.length, 1); from += changesPerMessage) {
      await this.#broadcast.publish(db, { account, changes: changes.slice(from, from + changesPerMessage), wake });
    }
  }

  /** Sends the account's changes to a stream until it ends. */
  follow(account: string, stream: EventStream): void {
    this.#broadcast.follow(account, stream);
  }

  /** Calls `handler` whenever something may be due or claimable. */
  onWake(handler: () => void): void {
    this.#wakers.add(handler);
  }

  /** Resolves at the next wake of the account, after `ms`, or when the signal is aborted. */
  async nextWake(account: string, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(account) ?? new Set();
    this.#waiting.set(account, waiting.add(resolve));
    const cancel = this.#kernel.clock.after(ms, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
    await promise;
    cancel();
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(account) === waiting) this.#waiting.delete(account);
  }

  /** Answers every claim that waits; for a shutdown. */
  wakeAll(): void {
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve();
  }

  #deliver({ account, changes, wake }: Message): void {
    for (const change of changes) this.#broadcast.send(account, 'schedule', change);
    if (!wake) return;
    for (const resolve of this.#waiting.get(account) ?? []) resolve();
    for (const waker of this.#wakers) waker();
  }
}
