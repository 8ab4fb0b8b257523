import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient, isSvcError } from '@svc/sdk';

/** A client that follows the account's feed and goes on with its cursor after each loss, without a pause. */
export class Reader {
  /** The changes that came, as JSON, since they were compared last. */
  changes: string[] = [];
  cursor: string | undefined;
  readonly faults: string[] = [];
  connections = 0;
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(baseUrl: string, apiKey: string, cursor: string) {
    this.cursor = cursor;
    this.#client = createClient({ baseUrl, apiKey, retries: 0 });
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const query = { after: this.cursor as string };
        for await (const { event, data } of this.#client.events.stream({ query }, { signal })) {
          if (event === 'ready') {
            this.connections += 1;
            if (data.missed) this.faults.push(`missed after ${this.cursor}`);
          } else {
            this.changes.push(JSON.stringify(data));
            this.cursor = data.cursor;
          }
        }
      } catch (error) {
        if (isSvcError(error) && error.status >= 400 && error.status < 500) this.faults.push(String(error));
      }
      // A gateway that is away refuses at once.
      if (!signal.aborted) await sleep(2 + Math.random() * 10);
    }
  }
}

/** A client that keeps, changes and deletes prompts, and repeats what it got no answer to with the same key. */
export class Writer {
  /** Ids that were acknowledged as kept, and whether they were deleted since. */
  readonly kept = new Map<string, boolean>();
  readonly #client: Client;
  readonly #random: () => number;
  #stopped = false;
  #isWaiting = false;
  #paused: Promise<void> | undefined;
  #resume: () => void = () => {};
  readonly #done: Promise<void>;

  constructor(baseUrl: string, apiKey: string, random: () => number) {
    this.#client = createClient({ baseUrl, apiKey, retries: 0, timeoutMs: 5_000 });
    this.#random = random;
    this.#done = this.#run();
  }

  /** Resolves once it writes no more. */
  async pause(): Promise<void> {
    this.#paused ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
    while (!this.#isWaiting) await sleep(2);
  }

  go(): void {
    this.#paused = undefined;
    this.#resume();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.go();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (this.#paused) {
        this.#isWaiting = true;
        await this.#paused;
        this.#isWaiting = false;
        continue;
      }
      await this.#write();
      await sleep(this.#random() * 10);
    }
  }

  async #write(): Promise<void> {
    const idempotencyKey = randomUUID();
    const open = [...this.kept].flatMap(([id, isDeleted]) => (isDeleted ? [] : [id]));
    const id = open[Math.floor(this.#random() * open.length)];
    const act = this.#random();
    const isFull = open.length > 50;
    const body = { prompt: `Prompt ${idempotencyKey}`, not_before: '2030-01-01' };
    if (id === undefined || (act < 0.5 && !isFull)) {
      const made = await this.#insist(() => this.#client.prompts.create({ body }, { idempotencyKey }));
      if (made) this.kept.set(made.id, false);
    } else if (act < 0.7) {
      await this.#insist(() => this.#client.prompts.update({ params: { id }, body: { not_before: '2031-01-01' } }));
    } else {
      await this.#insist(() => this.#client.prompts.remove({ params: { id } }), 404);
      this.kept.set(id, true);
    }
  }

  /** Asks until there is an answer. A deletion whose answer was lost finds nothing. */
  async #insist<T>(ask: () => Promise<T>, done?: number): Promise<T | undefined> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (isSvcError(error) && error.status === done) return undefined;
        const isFinal = isSvcError(error) && error.status >= 400 && error.status < 500;
        if (isFinal && error.code !== 'idempotency_in_flight' && error.status !== 429) throw error;
        await sleep(5 + Math.random() * 20);
      }
    }
  }
}
