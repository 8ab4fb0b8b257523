import type { Clock } from './clock.ts';
import { type DatabaseTarget, type Db, openDatabase, quoteIdentifier, type Sql } from './db.ts';
import type { Log } from './log.ts';

/** Called with the payload of a message; a fault in it is logged and harms nobody else. */
export type BusHandler = (payload: unknown) => void | Promise<void>;

/**
 * Wake-ups between processes. Delivery is at most once and only to those who listen now: the truth is in the database,
 * and a payload holds ids, never content (Postgres allows 8,000 bytes).
 */
export interface Bus {
  /** Sent when the transaction `db` commits, at once when `db` is the pool. */
  publish(db: Db, topic: string, payload: unknown): Promise<void>;
  /** Resolves once messages are received; answers the function that ends the subscription. */
  subscribe(topic: string, handler: BusHandler): Promise<() => void>;
  /** False while messages may be missed. */
  isUp(): boolean;
  /** Calls `handler` when the bus is back after messages may have been missed, before `isUp` says so. */
  onRestored(handler: () => void): void;
  close(): Promise<void>;
}

/** Topics and their handlers, shared by the implementations. */
export class Subscriptions {
  readonly #handlers = new Map<string, Set<BusHandler>>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  topics(): string[] {
    return [...this.#handlers.keys()];
  }

  /** Answers true when the topic is new. */
  add(topic: string, handler: BusHandler): boolean {
    const handlers = this.#handlers.get(topic);
    if (handlers) handlers.add(handler);
    else this.#handlers.set(topic, new Set([handler]));
    return !handlers;
  }

  remove(topic: string, handler: BusHandler): void {
    this.#handlers.get(topic)?.delete(handler);
  }

  async deliver(topic: string, text: string): Promise<void> {
    for (const handler of this.#handlers.get(topic) ?? []) {
      try {
        await handler(JSON.parse(text));
      } catch (err) {
        this.#log.error({ err, topic }, 'bus handler failed');
      }
    }
  }
}

const channelPrefix = 'svc:';
const reconnectMs = 200;

/**
 * The bus over LISTEN/NOTIFY, on one connection of its own. postgres.js gives up a LISTEN whose first reconnect fails,
 * so the connection is watched here and every topic is listened to again after any loss.
 */
export async function openPostgresBus(target: DatabaseTarget, clock: Clock, log: Log): Promise<Bus> {
  const subscriptions = new Subscriptions(log);
  const restored: (() => void)[] = [];
  let up = false;
  let closed = false;
  const listener: Sql = openDatabase(target, 1, {
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    onnotify: (channel: string, text: string) => void subscriptions.deliver(channel.slice(channelPrefix.length), text),
    onclose: () => {
      if (up && !closed) clock.after(reconnectMs, () => void listenAgain());
      up = false;
    },
  } as object);
  const listen = (topic: string) => listener.unsafe(`listen ${quoteIdentifier(channelPrefix + topic)}`);

  async function listenAgain(): Promise<void> {
    if (closed || up) return;
    try {
      await listener`select 1`;
      for (const topic of subscriptions.topics()) await listen(topic);
      for (const handler of restored) handler();
      up = true;
      log.info('bus reconnected');
    } catch {
      clock.after(reconnectMs, () => void listenAgain());
    }
  }

  await listener`select 1`;
  up = true;
  return {
    async publish(db, topic, payload) {
      await db`select pg_notify(${channelPrefix + topic}, ${JSON.stringify(payload)})`;
    },
    async subscribe(topic, handler) {
      if (subscriptions.add(topic, handler)) await listen(topic);
      return () => subscriptions.remove(topic, handler);
    },
    isUp: () => up,
    onRestored: (handler) => void restored.push(handler),
    async close() {
      closed = true;
      await listener.end({ timeout: 1 });
    },
  };
}
