import type { Kernel } from '../../kernel/kernel.ts';
import { type Loop, startLoop } from '../../kernel/work/loop.ts';
import { Mailer } from './notifications.mail.ts';
import { noteOutcome } from './notifications.outcomes.ts';
import type { FirstOutcome } from './notifications.outcomes.sql.ts';
import { type DeliveryOutcome, push, type VapidKeys } from './notifications.push.ts';
import { retryAfter } from './notifications.rules.ts';
import {
  type Channel,
  type DeliveryRow,
  finishDelivery,
  type Free,
  giveUp,
  postponeDelivery,
  takeDeliveries,
  targetOf,
} from './notifications.sql.ts';
import { dropSubscription, noteDelivered, noteFailed } from './push/subscriptions.sql.ts';
import { deliverToWebhook } from './webhooks/deliver.ts';

/** Deliveries at work at the same time in a process: a mail server that hangs holds up no browser, nor does a webhook. */
const slots = { push: 24, mail: 8, webhook: 24 } as const;
/** Of those, one account's: its browsers that hang hold up no other account. */
const slotsPerLane = { push: 6, mail: 2, webhook: 4 } as const;
const channels = ['push', 'mail', 'webhook'] as const;
/** Longer than any delivery takes; after this another process tries it again. */
const leaseSeconds = 120;
/** Interval of looking for retries, and for deliveries that the bus did not announce. */
const lookEveryMs = 5_000;
/** A shutdown waits this long for deliveries at work, then ends requests to webhooks and notes that they were made. */
const drainMs = 5_000;
const lastNotesMs = 1_000;

/**
 * Delivers what is due: each row is one target, so a retry of one sends nothing to another. At least once: a process
 * killed between sending and noting it leaves a row whose lease runs out.
 */
export class Outbox {
  readonly #kernel: Kernel;
  readonly #vapid: () => Promise<VapidKeys>;
  readonly #mailer: Mailer;
  readonly #running = new Map<Promise<void>, DeliveryRow>();
  readonly #ending = new AbortController();
  #loop: Loop | undefined;
  #mayTake: () => boolean = () => true;
  #stopped = false;

  constructor(kernel: Kernel, vapid: () => Promise<VapidKeys>) {
    this.#kernel = kernel;
    this.#vapid = vapid;
    this.#mailer = new Mailer(kernel);
  }

  /** Looks for work from now on. A process that is no worker gives `mayTake`, and takes some only while that is true. */
  start(mayTake?: () => boolean): void {
    this.#mayTake = mayTake ?? this.#mayTake;
    const work = () => this.#take();
    const isVital = mayTake === undefined;
    this.#loop = startLoop(this.#kernel, { name: 'notifications.outbox', everyMs: lookEveryMs, isVital, work });
    this.#loop.wake();
  }

  /** Looks for work now. */
  wake(): void {
    this.#loop?.wake();
  }

  /** Takes no more work, and waits a moment for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop?.stop();
    await this.#settle(drainMs);
    this.#ending.abort();
    await this.#settle(lastNotesMs);
    this.#mailer.close();
  }

  /** Waits for what is under way, at most so long. */
  async #settle(ms: number): Promise<void> {
    if (this.#running.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#kernel.clock.after(ms, resolve);
    await Promise.race([Promise.all(this.#running.keys()), promise]);
    cancel();
  }

  async #take(): Promise<void> {
    const { sql, clock } = this.#kernel;
    for (const channel of channels) {
      for (;;) {
        const free = this.#free(channel);
        if (free.most === 0 || this.#stopped || !this.#mayTake()) break;
        const rows = await takeDeliveries(sql, clock, free, leaseSeconds);
        if (rows.length === 0) break;
        for (const row of rows) this.#begin(row);
      }
    }
  }

  #begin(row: DeliveryRow): void {
    const work = this.#deliver(row).finally(() => {
      this.#running.delete(work);
      // A slot is free, and there may be more than there were slots.
      this.wake();
    });
    this.#running.set(work, row);
  }

  #free(channel: Channel): Free {
    const running = [...this.#running.values()].filter((row) => row.channel === channel);
    return {
      channel,
      most: slots[channel] - running.length,
      perLane: slotsPerLane[channel],
      running: running.map((row) => ({ lane: row.lane, target: targetOf(row) })),
    };
  }

  async #deliver(row: DeliveryRow): Promise<void> {
    const { log } = this.#kernel;
    try {
      const outcome =
        row.channel === 'webhook'
          ? await deliverToWebhook(this.#kernel, row, this.#ending.signal)
          : await this.#send(row);
      await noteOutcome(this.#kernel, row, outcome);
    } catch (err) {
      log.warn({ err, delivery: row.id }, 'a delivery was not noted; its lease brings it back');
    }
  }

  /** Makes one attempt at a push or a mail, and notes how it went. */
  async #send(row: DeliveryRow): Promise<FirstOutcome> {
    const outcome = row.channel === 'push' ? await push(this.#kernel, this.#vapid, row) : await this.#mailer.send(row);
    await this.#note(row, outcome);
    if (outcome.done) return { ok: true };
    const { status, reason, said = reason } = outcome;
    return { ok: false, status, reason: outcome.retry ? `${said}; it is tried again` : said };
  }

  async #note(row: DeliveryRow, outcome: DeliveryOutcome): Promise<void> {
    const { sql, clock, log } = this.#kernel;
    if (outcome.done) {
      await finishDelivery(sql, row.id);
      if (row.subscription) await noteDelivered(sql, clock, row.subscription.id);
      return;
    }
    const { subscription } = row;
    if (subscription)
      await noteFailed(sql, clock, { id: subscription.id, status: outcome.status, reason: outcome.reason });
    const told = { delivery: row.id, channel: row.channel, attempts: row.attempts, reason: outcome.reason };
    const seconds = outcome.retry ? retryAfter(row.attempts, outcome.afterSeconds) : undefined;
    if (seconds !== undefined) {
      log.info({ ...told, seconds }, 'a delivery failed and is tried again');
      return void (await postponeDelivery(sql, clock, row, seconds));
    }
    if (await giveUp(sql, row)) log.warn(told, 'a delivery is given up');
    if (!outcome.retry && outcome.targetIsGone && row.subscription) await dropSubscription(sql, row.subscription.id);
  }
}
