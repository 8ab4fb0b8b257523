import type { Cancel, Clock } from '../base/clock.ts';
import { channelPrefix, payloadOf, Publisher } from './bus.publisher.ts';
import {
  type DatabaseTarget,
  type Deadline,
  type Db,
  isTransaction,
  onCommit,
  openDatabase,
  quoteIdentifier,
  type Sql,
} from '../db/db.ts';
import type { Log } from '../base/log.ts';

/** Called with the payload of a message; a fault in it is logged and harms nobody else. */
export type BusHandler = (payload: unknown) => void | Promise<void>;

/**
 * Wake-ups between processes. Delivery is at most once and only to those who listen now: the truth is in the database,
 * and a payload holds ids, never content (Postgres allows 8,000 bytes).
 */
export interface Bus {
  /**
   * Sends at once when `db` is the pool, and fails when it cannot. In a transaction it sends after the commit, which
   * waits for it: who gets an answer of the commit finds its message sent. A failure then counts as a lost message.
   */
  publish(db: Db, topic: string, payload: unknown): Promise<void>;
  /** Sends what is committed already, and waits for nothing; what cannot be sent counts as a lost message. */
  post(topic: string, payload: unknown): void;
  /** Resolves once messages are received; answers the function that ends the subscription. */
  subscribe(topic: string, handler: BusHandler): Promise<() => void>;
  /** False while messages may be missed. */
  isUp(): boolean;
  /** Calls `handler` when messages may have been missed: the bus was down, or somebody's message was lost. */
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

const reconnectMs = 200;
/** A listening connection is asked this often whether it still hears: a machine that is gone resets nothing. */
const probeEveryMs = 5_000;
const usualDeadline: Deadline = { statementMs: 5_000 };
/** A commit waits this long for its messages. */
const sendLimitMs = 1_000;
/** Of the publisher: every process hears it, and takes its streams for incomplete. */
const lost = 'bus.lost';

/**
 * The bus over LISTEN/NOTIFY, on two connections of its own, one to listen and one to publish. postgres.js gives up a
 * LISTEN whose first reconnect fails, so the connection is watched here and every topic is listened to again after any
 * loss.
 */
export async function openPostgresBus(
  target: DatabaseTarget,
  clock: Clock,
  log: Log,
  deadline: Deadline = usualDeadline,
): Promise<Bus> {
  const bus = new PostgresBus(target, clock, log, deadline);
  await bus.open();
  return {
    publish: (db, topic, payload) => bus.publish(db, topic, payload),
    post: (topic, payload) => bus.post(topic, payload),
    subscribe: (topic, handler) => bus.subscribe(topic, handler),
    isUp: () => bus.isUp(),
    onRestored: (handler) => bus.onRestored(handler),
    close: () => bus.close(),
  };
}

class PostgresBus implements Bus {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #subscriptions: Subscriptions;
  readonly #publisher: Publisher;
  readonly #listener: Sql;
  readonly #restored: (() => void)[] = [];
  #stopProbing: Cancel = () => {};
  #isUp = false;
  #isClosed = false;
  #isTellingLost = false;
  /** How often the listening connection was closed. */
  #closes = 0;

  constructor(target: DatabaseTarget, clock: Clock, log: Log, deadline: Deadline) {
    this.#clock = clock;
    this.#log = log;
    this.#subscriptions = new Subscriptions(log);
    this.#publisher = new Publisher(target, clock);
    this.#listener = openDatabase(target, 1, {
      use: 'bus',
      idle_timeout: 0,
      max_lifetime: null,
      deadline,
      onnotify: (channel: string, text: string) => this.#deliver(channel.slice(channelPrefix.length), text),
      onclose: () => this.#onClose(),
    } as object);
  }

  async open(): Promise<void> {
    await this.#listen(lost);
    this.#isUp = true;
    this.#stopProbing = this.#clock.every(probeEveryMs, () => {
      // Of an answer that stays out the connection ends, which `#onClose` hears.
      if (this.#isUp) this.#listener.unsafe('select 1').catch(() => {});
    });
  }

  async publish(db: Db, topic: string, payload: unknown): Promise<void> {
    const text = payloadOf(payload);
    if (isTransaction(db)) await onCommit(db, () => this.#publishCommitted(topic, text));
    else await this.#publisher.send(topic, text);
  }

  post(topic: string, payload: unknown): void {
    void this.#publishCommitted(topic, payloadOf(payload));
  }

  async subscribe(topic: string, handler: BusHandler): Promise<() => void> {
    if (this.#subscriptions.add(topic, handler)) await this.#listen(topic);
    return () => this.#subscriptions.remove(topic, handler);
  }

  isUp(): boolean {
    return this.#isUp;
  }

  onRestored(handler: () => void): void {
    this.#restored.push(handler);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopProbing();
    await this.#publisher.close();
    await this.#listener.end({ timeout: 1 });
  }

  async #listen(topic: string): Promise<void> {
    await this.#listener.unsafe(`listen ${quoteIdentifier(channelPrefix + topic)}`);
  }

  #deliver(topic: string, text: string): void {
    if (topic === lost) this.#onMissed();
    else void this.#subscriptions.deliver(topic, text);
  }

  #onMissed(): void {
    for (const handler of this.#restored) handler();
  }

  #onClose(): void {
    this.#closes += 1;
    if (this.#isUp && !this.#isClosed) this.#clock.after(reconnectMs, () => void this.#listenAgain());
    this.#isUp = false;
  }

  async #listenAgain(): Promise<void> {
    if (this.#isClosed || this.#isUp) return;
    const closes = this.#closes;
    try {
      for (const topic of [lost, ...this.#subscriptions.topics()]) await this.#listen(topic);
      // A connection that broke between two LISTENs hears only the later ones.
      if (closes !== this.#closes) throw new Error('the connection broke again');
      this.#onMissed();
      this.#isUp = true;
      this.#log.info('bus reconnected');
    } catch {
      this.#clock.after(reconnectMs, () => void this.#listenAgain());
    }
  }

  /** Waits for its message, but not long: a connection that hangs must not hold up what is committed. */
  async #publishCommitted(topic: string, text: string): Promise<void> {
    const limit = Promise.withResolvers<void>();
    const cancel = this.#clock.after(sendLimitMs, limit.resolve);
    const sent = this.#publisher.send(topic, text).catch((err: unknown) => {
      this.#log.warn({ err, topic }, 'a message was lost after its commit');
      this.#tellLost();
    });
    await Promise.race([sent, limit.promise]);
    cancel();
  }

  /** Tells every process that it may miss a message, as soon as that is possible. */
  #tellLost(): void {
    if (this.#isClosed || this.#isTellingLost) return;
    this.#isTellingLost = true;
    const again = (): void => {
      this.#isTellingLost = false;
      this.#tellLost();
    };
    this.#publisher.send(lost, 'null').then(
      () => {
        this.#isTellingLost = false;
      },
      () => this.#clock.after(reconnectMs, again),
    );
  }
}
