import { faultOfRow } from '../../../kernel/work/batches.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Actor } from '../../../kernel/base/actor.ts';
import { inTransaction } from '../../../kernel/db/db.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { startLoop } from '../../../kernel/work/loop.ts';
import { type UsageRecord, writeUsage } from '../../../kernel/records/usage.ts';
import {
  deleteReservation,
  insertReservation,
  lockSpend,
  renewReservations,
  setReservation,
  spendLeft,
  sweepReservations,
} from './spend.sql.ts';

/** Spend that a request under way may come to. */
export interface Reservation {
  /** Records what it cost, once: the reservation ends with it, so that the cap never counts both or neither. */
  settle(usage: UsageRecord): Promise<void>;
  /**
   * Before a further part of the request: `spentMicroUsd` is what it came to so far, `nextMicroUsd` the most of the next
   * part. Throws 429 when the cap is reached; what was spent stays reserved.
   */
  extend(spentMicroUsd: number, nextMicroUsd: number): Promise<void>;
}

const renewEveryMs = 10_000;
/** A gateway that is killed leaves nothing behind after this. */
const leaseMs = 30_000;

/**
 * Spend of keys with a cap (design: inference, Routes): reserved before a request costs, settled by what it cost. Keys
 * without one, above them too, cost no query.
 */
export class Spending {
  readonly #kernel: Kernel;
  readonly #open = new Set<string>();
  /** Usage of requests that ended while the database was away: recorded when it is back, and reserved until then. */
  readonly #unsettled = new Map<string, UsageRecord>();
  readonly #recording = new Set<string>();
  #renewing: { stop(): Promise<void> } | undefined;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Renews what is reserved. */
  start(): void {
    const { sql, clock } = this.#kernel;
    this.#renewing = startLoop(this.#kernel, {
      name: 'keys.reservations',
      everyMs: renewEveryMs,
      work: async () => {
        if (this.#open.size > 0) await renewReservations(sql, clock, [...this.#open], leaseMs);
        for (const [id, usage] of this.#unsettled) await this.#record(id, usage);
        await sweepReservations(sql, clock);
      },
    });
  }

  async stop(): Promise<void> {
    await this.#renewing?.stop();
  }

  /**
   * Reserves the most that a request may cost. Throws 429 when the cap of the key, or of one above it, is reached by what
   * was spent and what is reserved; the last one that is let through may pass it.
   */
  async reserve(actor: Actor, costMicroUsd: number): Promise<Reservation> {
    const { accountId, keyId, spendCapMicroUsd } = actor;
    if (spendCapMicroUsd === undefined) return this.#free();
    const { sql, clock } = this.#kernel;
    const id = await inTransaction(sql, async (tx) => {
      await lockSpend(tx, accountId);
      if ((await spendLeft(tx, clock, accountId, keyId)) <= 0) throw spent();
      return insertReservation(tx, clock, { accountId, keyId, costMicroUsd, leaseMs });
    });
    this.#open.add(id);
    return {
      settle: (usage) => this.#settle(id, usage),
      extend: (spentMicroUsd, nextMicroUsd) => this.#extend(actor, id, spentMicroUsd, nextMicroUsd),
    };
  }

  async #extend({ accountId, keyId }: Actor, id: string, spentMicroUsd: number, nextMicroUsd: number): Promise<void> {
    const { sql, clock } = this.#kernel;
    const isLeft = await inTransaction(sql, async (tx) => {
      await lockSpend(tx, accountId);
      await setReservation(tx, id, spentMicroUsd);
      const left = (await spendLeft(tx, clock, accountId, keyId)) > 0;
      if (left) await setReservation(tx, id, spentMicroUsd + nextMicroUsd);
      return left;
    });
    if (!isLeft) throw spent();
  }

  #free(): Reservation {
    return {
      settle: (usage) => {
        this.#kernel.usage.record(usage);
        return Promise.resolve();
      },
      extend: () => Promise.resolve(),
    };
  }

  async #settle(id: string, usage: UsageRecord): Promise<void> {
    if (!this.#open.has(id) || this.#unsettled.has(id)) return;
    this.#unsettled.set(id, usage);
    // The answer is there, and its client must have it.
    await this.#record(id, usage).catch((err: unknown) => {
      this.#kernel.log.warn({ err }, 'what a request cost is recorded when the database is back');
    });
  }

  async #record(id: string, usage: UsageRecord): Promise<void> {
    if (this.#recording.has(id)) return;
    this.#recording.add(id);
    try {
      await inTransaction(this.#kernel.sql, async (tx) => {
        await deleteReservation(tx, id);
        await writeUsage(tx, [usage]);
      }).catch(async (error: unknown) => {
        const code = faultOfRow(error);
        if (code === undefined) throw error;
        // It would hold up all that wait behind it, for ever.
        await deleteReservation(this.#kernel.sql, id);
        this.#kernel.log.error({ code }, 'what a request cost is dropped: the database refuses its record');
      });
      this.#unsettled.delete(id);
      this.#open.delete(id);
    } finally {
      this.#recording.delete(id);
    }
  }
}

const spent = (): ApiError =>
  new ApiError(
    'quota_exceeded',
    'the spend cap of this key is reached, requests under way included; raise it to go on',
    {
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    },
  );
