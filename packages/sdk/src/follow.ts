import type { Contract, RouteEvent } from '@svc/contract';
import type { Client } from './client.ts';
import { isSvcError } from './error.ts';
import { onReturn, pauseOf, sleep } from './pause.ts';

type Frame = RouteEvent<Contract['events']['stream']>;
type Told = Extract<Frame, { event: 'change' }>['data'];
/** A feature whose changes are told. */
export type Topic = Told['topic'];

/** Something that happened to a record of the account, with the record of its `topic` where it is not too long. */
export type Change<T extends Topic = Topic> = Extract<Told, { topic: T }> & { missed?: never };

/** What was known of the topics has to be read anew: changes before `cursor` are no longer told, or nothing was known. */
export interface Missed {
  missed: true;
  topic?: never;
  cursor: string;
}

/** Which changes are followed. */
export interface FollowOptions<T extends Topic = Topic> {
  /** Features whose changes are wanted; if unset all that the key may read. */
  topics?: readonly T[];
  /** The cursor of what was taken last, as `Following.cursor` says it; without it the first item is `missed`. */
  after?: string | undefined;
  /** Hears that changes come as they happen, and that the connection was lost: what is shown may be old until the next one. */
  onState?: (isLive: boolean) => void;
}

/** The gateway writes `: ping` every 15 s: a connection that is silent for so long is gone. */
const silenceMs = 45_000;
/** A page that comes to the front asks anew when it has heard nothing for so long: its timers may have stood still. */
const staleMs = 20_000;

/**
 * Follows the changes of an account over every loss of the connection: it connects again after 0.5 to 15 s, and at once
 * when the browser comes online or to the front, goes on after its cursor, and yields nothing twice. Read what you show when
 * it yields `missed`, which it also does first when `after` is unset: what changes while you read comes next.
 *
 * Ends with the `SvcError` for a 400, 401, 403 or 404, and with the reason of `signal`.
 */
export function follow<T extends Topic = Topic>(
  client: Client,
  options: FollowOptions<T> = {},
  call: { signal?: AbortSignal } = {},
): Following<T> {
  return new Following(client, options, call.signal);
}

/** The changes of an account, as they come; for one reader. */
export class Following<T extends Topic = Topic> implements AsyncIterable<Change<T> | Missed> {
  readonly #client: Client;
  readonly #topics: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onState: (isLive: boolean) => void;
  #cursor: string | undefined;
  #failures = 0;

  constructor(client: Client, { topics, after, onState }: FollowOptions<T>, signal: AbortSignal | undefined) {
    this.#client = client;
    this.#topics = topics?.join(',');
    this.#signal = signal;
    this.#cursor = after;
    this.#onState = onState ?? (() => {});
  }

  /** Everything before it was yielded: the `after` with which another program goes on. */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change<T> | Missed, never> {
    for (;;) {
      const connection = new Connection(this.#signal);
      let askedMs = 0;
      try {
        yield* this.#changes(connection);
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (isSvcError(error)) {
          if ([400, 401, 403, 404].includes(error.status)) throw error;
          askedMs = 1_000 * (error.retryAfter ?? 0);
        }
      } finally {
        connection.close();
        this.#onState(false);
      }
      this.#failures += 1;
      if (!connection.isStale) await sleep(Math.max(askedMs, pauseOf(this.#failures)), this.#signal, true);
    }
  }

  /** What one connection brings, until it ends. */
  async *#changes(connection: Connection): AsyncGenerator<Change<T> | Missed> {
    const query = {
      ...(this.#topics !== undefined && { topics: this.#topics }),
      ...(this.#cursor !== undefined && { after: this.#cursor }),
    };
    const call = {
      retries: 0,
      timeoutMs: silenceMs,
      signal: connection.signal,
      onResponse: () => connection.heard(),
      onActivity: () => connection.heard(),
    };
    for await (const frame of this.#client.events.stream({ query }, call)) {
      // The reader takes as long as it likes: a silence counts while this side listens.
      connection.rest();
      if (frame.event === 'ready') {
        this.#failures = 0;
        const isNew = this.#cursor === undefined;
        this.#cursor = frame.data.cursor;
        this.#onState(true);
        if (isNew || frame.data.missed) yield { missed: true, cursor: frame.data.cursor };
      } else if (frame.event === 'change') {
        this.#cursor = frame.data.cursor;
        // The gateway tells the topics that were asked for.
        yield frame.data as Change<T>;
      }
      connection.heard();
    }
  }
}

/** When a connection was heard last; its signal aborts when it is taken for gone. */
class Connection {
  readonly #gone = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #stop: () => void;
  #heardAt = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly signal = this.#gone.signal;
  /** The browser came back to a connection that may be gone: no pause before the next one. */
  isStale = false;

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    // By hand: `AbortSignal.any` keeps something for each connection as long as the caller's signal lives.
    caller?.addEventListener('abort', this.#end);
    if (caller?.aborted) this.#end();
    this.#stop = onReturn((why) => {
      // A network that is new has none of the connections of the one before.
      if (why === 'visible' && Date.now() - this.#heardAt < staleMs) return;
      this.isStale = true;
      this.#end();
    });
  }

  readonly #end = (): void => this.#gone.abort(this.#caller?.reason);

  /** Something came, or this side listens again. */
  heard(): void {
    this.#heardAt = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#end, silenceMs);
  }

  /** This side does not listen. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    this.rest();
    this.#stop();
    this.#caller?.removeEventListener('abort', this.#end);
    this.#end();
  }
}
