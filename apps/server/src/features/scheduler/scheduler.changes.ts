import type { contract, RouteEvent } from '@svc/contract';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db.ts';
import type { EventStream } from '../../kernel/sse.ts';

/** One frame of `GET /v1/schedules/stream`. */
export type Change = RouteEvent<typeof contract.schedules.stream>['data'];

interface Message {
  account: string;
  changes: Change[];
  /** Something became claimable. */
  wake: boolean;
}

const topic = 'schedules.changed';
/** Postgres carries 8,000 bytes a message; a change has at most 190. */
const changesPerMessage = 40;

/**
 * Tells every gateway what changed: open streams get a frame, claims that wait and the loops of this process wake up.
 * Rows stay the truth: whoever misses a message looks again within 2 s.
 */
export class Changes {
  readonly #kernel: Kernel;
  readonly #streams = new Map<string, Set<EventStream>>();
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #wakers = new Set<() => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async start(): Promise<void> {
    await this.#kernel.bus.subscribe(topic, (payload) => this.#deliver(payload as Message));
  }

  /** Sends changes of an account once `db` commits. `wake`: claims that wait look again, also without a change. */
  async publish(db: Db, account: string, changes: readonly Change[], wake: boolean): Promise<void> {
    for (let from = 0; from < Math.max(changes.length, 1); from += changesPerMessage) {
      const message: Message = { account, changes: changes.slice(from, from + changesPerMessage), wake };
      await this.#kernel.bus.publish(db, topic, message);
    }
  }

  /** Calls `handler` whenever something may be due or claimable. */
  onWake(handler: () => void): void {
    this.#wakers.add(handler);
  }

  /** Sends the account's changes to a stream until it ends. */
  follow(account: string, stream: EventStream): void {
    const streams = this.#streams.get(account) ?? new Set();
    this.#streams.set(account, streams.add(stream));
    stream.onClose(() => {
      streams.delete(stream);
      if (streams.size === 0 && this.#streams.get(account) === streams) this.#streams.delete(account);
    });
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
    for (const change of changes) {
      const json = JSON.stringify(change);
      for (const stream of this.#streams.get(account) ?? []) stream.sendText('schedule', json);
    }
    if (!wake) return;
    for (const resolve of this.#waiting.get(account) ?? []) resolve();
    for (const waker of this.#wakers) waker();
  }
}
