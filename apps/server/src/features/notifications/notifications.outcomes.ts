import { type Db, inTransaction } from '../../kernel/db/db.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { type DeliveryRow, testType } from './notifications.sql.ts';

/** How the first attempt at a delivery went, in words for the person who asked: without a secret. */
export interface Outcome {
  ok: boolean;
  status?: number | undefined;
  reason?: string | undefined;
}

/** Bus topic: an attempt at a delivery of this notification was made. */
const outcomeTopic = 'notifications.outcome';
/** A person who waits at a page is told by then, whatever has not answered. */
const longestWaitMs = 10_000;
/** A wake that was lost costs so long. */
const lookEveryMs = 1_000;

/** Notes how an attempt at a delivery of a test went, for the gateway at which somebody waits for it. */
export async function noteOutcome(kernel: Kernel, delivery: DeliveryRow, outcome: Outcome): Promise<void> {
  const { notification } = delivery;
  if (notification?.type !== testType) return;
  const { id } = notification;
  await inTransaction(kernel.sql, async (tx) => {
    await tx`
      update notifications.notifications
      set outcomes = jsonb_build_object(${delivery.id}::text, ${JSON.stringify(outcome)}::text::jsonb)
        || coalesce(outcomes, '{}')
      where id = ${id}`;
    await kernel.bus.publish(tx, outcomeTopic, { id });
  });
}

/** By delivery: how its first attempt went. */
type Outcomes = ReadonlyMap<string, Outcome>;

async function findOutcomes(db: Db, id: string): Promise<Outcomes> {
  const [row] = await db<{ outcomes: Record<string, Outcome> | null }[]>`
    select outcomes from notifications.notifications where id = ${id}`;
  return new Map(Object.entries(row?.outcomes ?? {}));
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
    let [isOver, isNew] = [deliveries === 0, true];
    let wake = (): void => {};
    const look = (): void => {
      isNew = true;
      wake();
    };
    const end = (): void => {
      isOver = true;
      wake();
    };
    this.#waiting.set(id, look);
    signal.addEventListener('abort', end);
    const cancels = [clock.after(longestWaitMs, end), clock.every(lookEveryMs, look)];
    try {
      let found: Outcomes = new Map();
      while (!isOver && found.size < deliveries) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        if (!isNew) await promise;
        isNew = false;
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
