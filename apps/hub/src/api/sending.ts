import { indexedDbStorage, openOutbox, type Outbox, type OutboxInput, type OutboxOperation } from '@svc/sdk';
import { api, isUnreached } from './client.ts';
import { outboxName } from './outboxes.ts';
import { accountHere } from './store.ts';

/** What became of a write that was stored because there was no network. */
type Sent = { state: 'sent'; operation: string } | { state: 'refused'; operation: string; error: unknown };

/** What the API answers to an operation. */
export type AnswerOf<O extends OutboxOperation> = O extends `${infer F}.${infer V}`
  ? F extends keyof typeof api
    ? V extends keyof (typeof api)[F]
      ? (typeof api)[F][V] extends (...given: never[]) => Promise<infer T>
        ? T
        : never
      : never
    : never
  : never;

type Call = (input: unknown, options: { idempotencyKey: string }) => Promise<unknown>;

/** Writes that are kept on this device until there is a network; each goes once. */
export class Sending {
  #outbox: Outbox | undefined;
  readonly #onSent: (sent: Sent) => void;

  constructor(onSent: (sent: Sent) => void) {
    this.#onSent = onSent;
  }

  /** Opens what an earlier visit of this account left, and sends it. */
  resume(): void {
    this.#open();
  }

  #open(): Outbox {
    return (this.#outbox ??= openOutbox(api, indexedDbStorage(outboxName(accountHere())), {
      onChange: (change) => {
        const { operation } = change.entry;
        if (change.state === 'sent') this.#onSent({ state: 'sent', operation });
        if (change.state === 'refused') this.#onSent({ state: 'refused', operation, error: change.error });
      },
    }));
  }

  /** Makes a write now, or stores it when the gateway is out of reach; answers which, and what the API answered. */
  async send<O extends OutboxOperation>(
    operation: O,
    input: OutboxInput<O>,
  ): Promise<{ state: 'sent'; result: AnswerOf<O> } | { state: 'stored' }> {
    // The server may have done it though its answer was lost: with the same key it is done once.
    const idempotencyKey = crypto.randomUUID();
    if (navigator.onLine) {
      try {
        const [feature, verb] = operation.split('.') as [string, string];
        const call = (api as unknown as Record<string, Record<string, Call>>)[feature]?.[verb];
        if (!call) throw new Error(`no operation ${operation}`);
        return { state: 'sent', result: (await call(input, { idempotencyKey })) as AnswerOf<O> };
      } catch (error) {
        if (!isUnreached(error)) throw error;
      }
    }
    await this.#open().put(operation, input, { idempotencyKey });
    return { state: 'stored' };
  }

  /** Forgets what waits: the person signed out. */
  async clear(): Promise<void> {
    const outbox = this.#open();
    for (const { id } of await outbox.list()) await outbox.dismiss(id);
  }
}
