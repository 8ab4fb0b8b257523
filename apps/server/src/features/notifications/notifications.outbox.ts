import type { Kernel } from '../../kernel/context.ts';
import { Mailer } from './notifications.mail.ts';
import { type Outcome, push } from './notifications.push.ts';
import { retryAfter } from './notifications.rules.ts';
import {
  type DeliveryRow,
  dropSubscription,
  finishDelivery,
  postponeDelivery,
  takeDeliveries,
} from './notifications.sql.ts';
import type { VapidKeys } from './notifications.vapid.ts';

/** Deliveries at work at the same time in a process. */
const slots = 32;
/** Longer than any delivery takes; after this another process tries it again. */
const leaseSeconds = 120;
/** What the bus did not announce, and retries. */
const lookEveryMs = 5_000;
/** A shutdown waits this long for deliveries at work; the rest is sent again by lease. */
const drainMs = 3_000;

/**
 * Delivers what is due: each row is one target, so a retry of one sends nothing to another. At least once: a process
 * killed between sending and noting it leaves a row whose lease runs out.
 */
export class Outbox {
  readonly #kernel: Kernel;
  readonly #vapid: () => Promise<VapidKeys>;
  readonly #mailer: Mailer;
  readonly #running = new Set<Promise<void>>();
  #stopTimer = (): void => {};
  #stopped = false;
  #taking = false;
  #again = false;

  constructor(kernel: Kernel, vapid: () => Promise<VapidKeys>) {
    this.#kernel = kernel;
    this.#vapid = vapid;
    this.#mailer = new Mailer(kernel);
  }

  start(): void {
    this.#stopTimer = this.#kernel.clock.every(lookEveryMs, () => this.wake());
    this.wake();
  }

  /** Looks for work now; again afterwards when it looks already. */
  wake(): void {
    if (this.#taking || this.#stopped) {
      this.#again = true;
      return;
    }
    this.#taking = true;
    this.#again = false;
    this.#take()
      .catch((err: unknown) => this.#kernel.log.warn({ err }, 'the outbox was not read'))
      .finally(() => {
        this.#taking = false;
        if (this.#again) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer();
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#kernel.clock.after(drainMs, resolve);
    await Promise.race([Promise.all(this.#running), promise]);
    cancel();
    this.#mailer.close();
  }

  async #take(): Promise<void> {
    const { sql, clock } = this.#kernel;
    for (;;) {
      const free = slots - this.#running.size;
      if (free === 0 || this.#stopped) return;
      const rows = await takeDeliveries(sql, clock, free, leaseSeconds);
      for (const row of rows) {
        const work = this.#deliver(row).finally(() => {
          this.#running.delete(work);
          // A slot is free, and there may have been more than there were slots.
          if (rows.length === free) this.wake();
        });
        this.#running.add(work);
      }
      if (rows.length < free) return;
    }
  }

  async #deliver(row: DeliveryRow): Promise<void> {
    const { log } = this.#kernel;
    try {
      const outcome =
        row.channel === 'push' ? await push(this.#kernel, this.#vapid, row) : await this.#mailer.send(row);
      await this.#note(row, outcome);
    } catch (err) {
      log.warn({ err, delivery: row.id }, 'a delivery was not noted; its lease brings it back');
    }
  }

  async #note(row: DeliveryRow, outcome: Outcome): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    if (outcome.done) return finishDelivery(sql, row.id);
    const told = { delivery: row.id, channel: row.channel, attempts: row.attempts, reason: outcome.reason };
    const seconds = outcome.retry ? retryAfter(row.attempts, outcome.afterSeconds) : undefined;
    if (seconds !== undefined) {
      log.info({ ...told, seconds }, 'a delivery failed and is tried again');
      return postponeDelivery(sql, clock, row.id, seconds);
    }
    log.warn(told, 'a delivery is given up');
    await finishDelivery(sql, row.id);
    if (!outcome.retry && outcome.targetIsGone && row.subscription) await dropSubscription(sql, row.subscription.id);
  }
}
