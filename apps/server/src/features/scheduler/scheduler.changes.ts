import { type Broadcast, createBroadcast } from '../../kernel/streams/broadcast.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Db } from '../../kernel/db/db.ts';
import type { EventStream } from '../../kernel/streams/sse.ts';
import type { ScheduleChange } from '../schedules/index.ts';

/** Says which runs have written. */
type LogMessage = { run: string };

export type { ScheduleChange } from '../schedules/index.ts';

interface Message {
  account: string;
  changes: ScheduleChange[];
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
  readonly #logs: Broadcast<LogMessage>;
  /** By account, and by run for logs. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #wakers = new Set<() => void>();
  readonly #runHandlers = new Set<(change: ScheduleChange) => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#broadcast = createBroadcast(kernel, 'schedules.changed');
    this.#logs = createBroadcast(kernel, 'scheduler.logs');
  }

  /** Listens to all gateways. */
  async start(): Promise<void> {
    await this.#broadcast.start((message) => this.#deliver(message));
    await this.#logs.start(({ run }) => this.#wake(`log ${run}`));
  }

  /** Sends changes of an account once `db` is committed. `wake`: claims that wait look again, also without a change. */
  async publish(db: Db, account: string, changes: readonly ScheduleChange[], wake: boolean): Promise<void> {
    for (let from = 0; from < Math.max(changes.length, 1); from += changesPerMessage) {
      await this.#broadcast.publish(db, { account, changes: changes.slice(from, from + changesPerMessage), wake });
    }
  }

  /** Sends one change that is committed, and waits for nothing. */
  post(account: string, change: ScheduleChange): void {
    this.#broadcast.post({ account, changes: [change], wake: false });
  }

  /** Sends the account's changes to a stream until it ends. */
  follow(account: string, stream: EventStream): void {
    this.#broadcast.follow(account, stream);
  }

  /** Calls `handler` whenever something may be due or claimable. */
  onWake(handler: () => void): void {
    this.#wakers.add(handler);
  }

  /** Calls `handler` with every move of a run, of any account. */
  onRun(handler: (change: ScheduleChange) => void): void {
    this.#runHandlers.add(handler);
  }

  /** Resolves at the next wake of the account, after `ms`, or when the signal is aborted. */
  nextWake(account: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#next(account, ms, signal);
  }

  /** Resolves when the run has written or moved, after `ms`, or when the signal is aborted. */
  nextLog(run: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#next(`log ${run}`, ms, signal);
  }

  /** Says that a run has written. */
  publishLog(db: Db, { id }: { id: string }): Promise<void> {
    return this.#logs.publish(db, { run: id });
  }

  async #next(key: string, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(resolve));
    const cancel = this.#kernel.clock.after(ms, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
    await promise;
    cancel();
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
  }

  /** Answers every claim that waits; for a shutdown. */
  wakeAll(): void {
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve();
  }

  #wake(key: string): void {
    for (const resolve of this.#waiting.get(key) ?? []) resolve();
  }

  #deliver({ account, changes, wake }: Message): void {
    for (const change of changes) this.#broadcast.send(account, 'schedule', change);
    for (const change of changes) {
      if (change.op !== 'run') continue;
      for (const handle of this.#runHandlers) handle(change);
      this.#wake(`log ${change.run_id}`);
    }
    if (!wake) return;
    this.#wake(account);
    for (const waker of this.#wakers) waker();
  }
}
