import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import type { ControlRow } from './sessions.controls.sql.ts';
import { deleteTurn, listDueTurns, postponeTurn, takeTurn, type SessionTurn } from './sessions.turns.sql.ts';

/** The events of sessions that another feature hears of. */
export interface SessionListener {
  /** Each turn that begins or ends, in a transaction of its own; what it throws is tried again. */
  turn: (db: Db, turn: SessionTurn) => Promise<void>;
  /** A control that a device took, or that got its device, in the transaction of that. */
  control: (db: Db, control: ControlRow) => Promise<void>;
  /** A session that is deleted, in the transaction of that. */
  gone: (db: Db, sessionId: string) => Promise<void>;
}

const lookEveryMs = 1_000;
/** Accounts whose turns are told at the same time: none waits for another one's. */
const mostAtOnce = 4;
/** Seconds until the next try after a failure; after the last one the turn is forgotten. */
const retrySeconds = [1, 5, 30, 300];

/**
 * Tells other features of turns once they are stored: whatever happens there, the turn is acknowledged and goes on
 * (document 1: matching never blocks or fails the turn). A row is kept until it was told, so that a gateway that dies
 * between the two loses nothing.
 */
export class TurnTeller {
  readonly #kernel: Kernel;
  readonly #onTurn: SessionListener['turn'];
  #loop: Loop | undefined;

  constructor(kernel: Kernel, onTurn: SessionListener['turn']) {
    this.#kernel = kernel;
    this.#onTurn = onTurn;
  }

  /** Looks from now on. */
  start(): void {
    const work = () => this.#work();
    this.#loop = startLoop(this.#kernel, { name: 'sessions.turns', everyMs: lookEveryMs, work });
    this.#loop.wake();
  }

  /** Looks now. */
  wake(): void {
    this.#loop?.wake();
  }

  /** Lets what is under way end, and begins no other. */
  async stop(): Promise<void> {
    await this.#loop?.stop();
  }

  async #work(): Promise<void> {
    const { sql, clock } = this.#kernel;
    for (;;) {
      const due = await listDueTurns(sql, clock, mostAtOnce);
      const told = await Promise.all(due.map((one) => this.#tell(one)));
      // Turns that are due and were not told are handled elsewhere, or failed.
      if (!told.includes(true)) return;
    }
  }

  async #tell(one: { session_id: string; seq: number }): Promise<boolean> {
    const { sql, clock, log } = this.#kernel;
    try {
      return await inTransaction(sql, async (tx) => {
        const turn = await takeTurn(tx, one);
        if (!turn) return false;
        await this.#onTurn(tx, turn);
        await deleteTurn(tx, one);
        return true;
      });
    } catch (err) {
      const failed = { err, session: one.session_id, seq: one.seq };
      const tried = await postponeTurn(sql, clock, one, retrySeconds);
      if (tried <= retrySeconds.length) log.warn(failed, 'a turn was not told; it is tried again');
      else {
        log.error(failed, 'a turn was not told and is given up');
        await deleteTurn(sql, one);
      }
      return false;
    }
  }
}
