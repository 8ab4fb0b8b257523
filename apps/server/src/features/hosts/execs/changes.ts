import type { ChangeRecord } from '@svc/contract';
import type { Db } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { Wakes } from '../../../kernel/streams/wakes.ts';
import type { ExecRow } from './execs.sql.ts';
import { viewExec } from './view.ts';

/** Says that something happened to a command. A hint: rows are the truth. */
export interface ExecHint {
  id: string;
  account: string;
  device: string;
  /** Its machine was told of it, and is not to do it. */
  ends?: boolean;
  /** Its machine may be told of another one. */
  next?: boolean;
}

/**
 * Changes of commands: those who follow the account are told by the feed, the gateway that holds the stream of the machine acts, and
 * followers of an output look again.
 */
export class ExecChanges {
  readonly #kernel: Kernel;
  readonly #wakes: Wakes;
  readonly #handlers = new Set<(hint: ExecHint) => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#wakes = new Wakes(kernel.clock);
  }

  /** Listens to all gateways. */
  async start(): Promise<void> {
    await this.#kernel.bus.subscribe('hosts.execs', (message) => {
      const hint = message as ExecHint;
      this.#wakes.wake(hint.id);
      if (hint.ends || hint.next) for (const handle of this.#handlers) handle(hint);
    });
  }

  /** Calls `handler` with every change that concerns its machine. */
  onHint(handler: (hint: ExecHint) => void): void {
    this.#handlers.add(handler);
  }

  /** Records where a command stands once `db` is committed. */
  async record(db: Db, op: 'created' | 'updated', row: ExecRow, what: Pick<ExecHint, 'ends' | 'next'>): Promise<void> {
    const { id, account_id: accountId } = row;
    await this.#kernel.feed.record(db, [
      { accountId, topic: 'hosts', op, id, record: viewExec(row) satisfies ChangeRecord<'hosts'> },
    ]);
    await this.publish(db, row, what);
  }

  /** Sends a hint once `db` is committed. */
  async publish(db: Db, row: ExecRow, what: Pick<ExecHint, 'ends' | 'next'> = {}): Promise<void> {
    const hint: ExecHint = { id: row.id, account: row.account_id, device: row.device_id, ...what };
    await this.#kernel.bus.publish(db, 'hosts.execs', hint);
  }

  /** Resolves when the command has changed or written, after `ms`, or when the signal is aborted. */
  next(id: string, ms: number, signal: AbortSignal): Promise<void> {
    return this.#wakes.next(id, ms, signal);
  }
}
