import type { ChangeRecord } from '@svc/contract';
import type { Db } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Change } from '../../kernel/streams/feed.ts';
import { Wakes } from '../../kernel/streams/wakes.ts';
import type { CreatedRun } from './scheduler.sql.ts';
import { runStates } from './scheduler.states.ts';

/** Says which runs have written. */
type LogMessage = { run: string };

interface Message {
  account: string;
  /** Something became claimable. */
  wake: boolean;
  /** Runs that are over. */
  over: string[];
}

/** Postgres carries 8,000 bytes a message. */
const mostIds = 180;
/** Bus topics. */
const moved = 'scheduler.moved';
const logged = 'scheduler.logs';

/**
 * Moves of runs: those who follow the account are told by the feed; claims that wait, logs that are followed and the loops of
 * every process look again. Rows stay the truth: who misses a message looks again within 2 s.
 */
export class Changes {
  readonly #kernel: Kernel;
  /** Claims by account, and readers of logs by run. */
  readonly #wakes: Wakes;
  readonly #wakers = new Set<() => void>();
  readonly #overHandlers = new Set<(runId: string) => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#wakes = new Wakes(kernel.clock);
  }

  /** Listens to all gateways. */
  async start(): Promise<void> {
    const { bus } = this.#kernel;
    await bus.subscribe(moved, (message) => this.#deliver(message as Message));
    await bus.subscribe(logged, (message) => this.#wakes.wake(`log ${(message as LogMessage).run}`));
  }

  /** Records where runs of an account stand once `db` is committed; `wake`: claims that wait look again. */
  async record(db: Db, op: Change['op'], runs: readonly CreatedRun[], wake: boolean): Promise<void> {
    const [first] = runs;
    if (!first) return;
    await this.#kernel.feed.record(
      db,
      runs.map((run) => changeOf(op, run)),
    );
    const over = runs.filter(({ state }) => runStates.isFinal(state)).map(({ id }) => id);
    if (wake || over.length > 0) await this.#publish(db, { account: first.account_id, wake, over });
  }

  /** Has claims of the account and the loops of every process look again, once `db` is committed. */
  wake(db: Db, account: string): Promise<void> {
    return this.#publish(db, { account, wake: true, over: [] });
  }

  /** Calls `handler` whenever something may be due or claimable. */
  onWake(handler: () => void): void {
    this.#wakers.add(handler);
  }

  /** Calls `handler` with every run that is over, of any account. */
  onOver(handler: (runId: string) => void): void {
    this.#overHandlers.add(handler);
  }

  /** Resolves at the next wake of the account, after `ms`, or when the signal is aborted. */
  nextWake(account: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#wakes.next(account, ms, signal);
  }

  /** Resolves when the run has written or is over, after `ms`, or when the signal is aborted. */
  nextLog(run: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#wakes.next(`log ${run}`, ms, signal);
  }

  /** Says that a run has written. */
  publishLog(db: Db, { id }: { id: string }): Promise<void> {
    return this.#kernel.bus.publish(db, logged, { run: id } satisfies LogMessage);
  }

  /** Answers every claim that waits; for a shutdown. */
  wakeAll(): void {
    this.#wakes.wakeAll();
  }

  async #publish(db: Db, { over, ...message }: Message): Promise<void> {
    for (let from = 0; from < Math.max(over.length, 1); from += mostIds) {
      const part: Message = { ...message, over: over.slice(from, from + mostIds) };
      await this.#kernel.bus.publish(db, moved, part);
    }
  }

  #deliver({ account, wake, over }: Message): void {
    for (const id of over) {
      for (const handle of this.#overHandlers) handle(id);
      this.#wakes.wake(`log ${id}`);
    }
    if (!wake) return;
    this.#wakes.wake(account);
    for (const waker of this.#wakers) waker();
  }
}

/** Where a run stands now. */
const changeOf = (
  op: Change['op'],
  { id, account_id: accountId, schedule_id, state, attempt }: CreatedRun,
): Change => ({
  accountId,
  topic: 'scheduler',
  op,
  id,
  record: { id, schedule_id, state, attempt } satisfies ChangeRecord<'scheduler'>,
});

/** The same of every row of a part of a statement, for `recording`. */
export const changesOf = (rows: string): string => `
  (select account_id, 'scheduler' as topic, 'updated' as op, id,
    json_build_object('id', id, 'schedule_id', schedule_id, 'state', state, 'attempt', attempt) as record
  from ${rows}) as changes`;
