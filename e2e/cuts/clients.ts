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

/** A client that gives commands to a host that may be away, each under a name that the command writes down. */
export class Commander {
  /** `req_id` of each command that was taken, by its name. */
  readonly given = new Map<string, string>();
  readonly #client: Client;
  readonly #deviceId: string;
  readonly #file: string;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  /** Each command adds its name to `file`. */
  constructor(baseUrl: string, apiKey: string, { deviceId, file }: { deviceId: string; file: string }) {
    this.#client = createClient({ baseUrl, apiKey, retries: 0, timeoutMs: 5_000 });
    this.#deviceId = deviceId;
    this.#file = file;
    this.#done = this.#run();
  }

  /** Gives no more commands; answers the state of each once all are over. */
  async outcomes(): Promise<Map<string, string>> {
    this.#stop.abort();
    await this.#done;
    const states = new Map<string, string>();
    for (const [name, reqId] of this.given) {
      const ask = () => this.#client.hosts.getExec({ params: { req_id: reqId } });
      for (;;) {
        const state = (await insist(ask))?.state ?? '';
        states.set(name, state);
        if (over.has(state)) break;
        await sleep(20);
      }
    }
    return states;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const name = randomUUID();
      const args = { command: `echo ${name} >> '${this.#file}'; sleep 0.2` };
      const body = { op: 'shell', args, if_offline: 'wait', detach: true } as const;
      const input = { params: { device_id: this.#deviceId }, body };
      // After a commit whose answer was lost there is no id to ask by: what it did is in the file.
      const answer = await insist(() => this.#client.hosts.exec(input, { idempotencyKey: name }), 409);
      if (answer) this.given.set(name, answer.req_id);
      await sleep(150, undefined, { signal }).catch(() => {});
    }
  }
}

/** The ends of a command that a host does by itself. */
const over = new Set(['done', 'expired', 'cancelled', 'unknown']);

/** Asks until there is an answer; undefined for a failure with this status. */
async function insist<T>(ask: () => Promise<T>, done?: number): Promise<T | undefined> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const status = isSvcError(error) ? error.status : 0;
      const passes = isSvcError(error, 'idempotency_in_flight') || status === 429;
      if (!passes && status === done) return undefined;
      if (!passes && status >= 400 && status < 500) throw error;
      await sleep(5 + Math.random() * 20);
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
      // Of a commit whose answer was lost the repeat says no id; the text finds it.
      const made =
        (await insist(() => this.#client.prompts.create({ body }, { idempotencyKey }), 409)) ??
        (await insist(() => this.#client.prompts.create({ body })));
      if (made) this.kept.set(made.id, false);
    } else if (act < 0.7) {
      await insist(() => this.#client.prompts.update({ params: { id }, body: { not_before: '2031-01-01' } }));
    } else {
      // A deletion whose answer was lost finds nothing.
      await insist(() => this.#client.prompts.remove({ params: { id } }), 404);
      this.kept.set(id, true);
    }
  }
}
