import { inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { addOutcome, type FirstOutcome, findOutcomes, type Outcomes } from './notifications.outcomes.sql.ts';
import { type DeliveryRow, testType } from './notifications.sql.ts';

/** Bus topic: an attempt at a delivery of this notification was made. */
const outcomeTopic = 'notifications.outcome';
/** A person who waits at a page is told by then, whatever has not answered. */
const longestWaitMs = 10_000;
/** A wake that was lost costs so long. */
const lookEveryMs = 1_000;

/** Notes how an attempt at a delivery of a test went, for the gateway at which somebody waits for it. */
export async function noteOutcome(kernel: Kernel, delivery: DeliveryRow, outcome: FirstOutcome): Promise<void> {
  const { notification } = delivery;
  if (notification?.type !== testType) return;
  const { id } = notification;
  await inTransaction(kernel.sql, async (tx) => {
    await addOutcome(tx, id, delivery.id, outcome);
    await kernel.bus.publish(tx, outcomeTopic, { id });
  });
}

/** Those who wait in this process for how a test goes. */
export class OutcomeWaits {
  readonly #kernel: Kernel;
  readonly #waiting = new Map<string, () => void>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Hears of outcomes from now on. */
  async start(): Promise<void> {
    await this.#kernel.bus.subscribe(outcomeTopic, (payload) => this.#waiting.get((payload as { id: string }).id)?.());
  }

  /** The outcomes of a test that has so many deliveries: once all of them are there, after 10 s, or when `signal` aborts. */
  async wait(id: string, deliveries: number, signal: AbortSignal): Promise<Outcomes> {
    const { clock, sql } = this.#kernel;
    const now = { isOver: deliveries === 0, isNew: true, wake: (): void => {} };
    const look = (): void => {
      now.isNew = true;
      now.wake();
    };
    const end = (): void => {
      now.isOver = true;
      now.wake();
    };
    this.#waiting.set(id, look);
    signal.addEventListener('abort', end);
    const cancels = [clock.after(longestWaitMs, end), clock.every(lookEveryMs, look)];
    try {
      let found: Outcomes = new Map();
      while (!now.isOver && found.size < deliveries) {
        const { promise, resolve } = Promise.withResolvers<void>();
        now.wake = resolve;
        if (!now.isNew) await promise;
        now.isNew = false;
        found = await findOutcomes(sql, id);
      }
      return found;
    } finally {
      for (const cancel of cancels) cancel();
      signal.removeEventListener('abort', end);
      this.#waiting.delete(id);
    }
  }
}
