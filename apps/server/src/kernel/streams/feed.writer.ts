import { systemClock } from '../base/clock.ts';
import { type Db, isTransaction, onCommit, writeWithCommit } from '../db/db.ts';
import type { Bus } from '../peers/bus.ts';
import type { Gateways } from '../peers/gateways.ts';
import { type Change, insertChanges } from './feed.store.ts';

/** A process sends at most one message in this time (design: feed). */
const gatherMs = 20;
/** Ids in one message; Postgres carries 8,000 bytes. */
const mostIds = 180;
/** Topic of the bus: ids of accounts that have new changes; null: any account may. */
export const changesWritten = 'feed.written';

/** Records changes in the transaction of what they tell, and wakes those who follow the account, on every gateway. */
export class FeedWriter {
  readonly #peers: { bus: Bus; gateways: Gateways };
  readonly #onWritten: (accountIds: readonly string[]) => void;
  readonly #waiting = new Set<string>();
  #isGathering = false;

  /** `onWritten` hears of what this process committed, before any message is sent. */
  constructor(peers: { bus: Bus; gateways: Gateways }, onWritten: (accountIds: readonly string[]) => void = () => {}) {
    this.#peers = peers;
    this.#onWritten = onWritten;
  }

  /**
   * Records changes: they are committed with `db` or not at all, in one statement that goes out with the commit. A record is
   * taken as it is then. On the pool they are written at once.
   */
  async record(db: Db, changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return;
    await writeWithCommit(db, insertChanges, changes);
    const accountIds = changes.map(({ accountId }) => accountId);
    await this.recorded(db, accountIds);
  }

  /** Says that a statement of `db` recorded changes of these accounts itself (`recording`). */
  async recorded(db: Db, accountIds: readonly string[]): Promise<void> {
    if (isTransaction(db)) await onCommit(db, () => this.#wake(accountIds));
    else this.#wake(accountIds);
  }

  #wake(accountIds: readonly string[]): void {
    this.#onWritten(accountIds);
    for (const id of accountIds) this.#waiting.add(id);
    if (!this.#isGathering) this.#send();
  }

  /** The first goes out at once, what comes within the next 20 ms together. A message that is lost costs one look. */
  #send(): void {
    const ids = [...this.#waiting];
    this.#waiting.clear();
    if (this.#peers.gateways.mayHavePeers()) this.#peers.bus.post(changesWritten, ids.length <= mostIds ? ids : null);
    this.#isGathering = true;
    // Real time: a test's clock says nothing of what the bus does.
    systemClock.after(gatherMs, () => {
      this.#isGathering = false;
      if (this.#waiting.size > 0) this.#send();
    });
  }
}
