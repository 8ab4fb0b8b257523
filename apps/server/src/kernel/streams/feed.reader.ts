import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Sql } from '../db/db.ts';
import { Share } from '../share/share.ts';
import { beginning, Cursors, type Position } from './feed.cursor.ts';
import { type Follower, type LiveFeed, tell } from './feed.live.ts';
import { findEnds, type Page, readChanges, type Reading, type StoredChange } from './feed.store.ts';
import type { EventStream } from './sse.ts';

/** A change as clients are told of it. */
export interface FeedChange extends Pick<StoredChange, 'topic' | 'op' | 'id' | 'at' | 'record'> {
  cursor: string;
}

/** A named frame and its JSON text. */
export interface Frame {
  event: string;
  json: string;
}

/** The part of an account's feed that somebody reads, and how a change of it is told; one object for all its readers. */
export interface View {
  readonly topics: ReadonlySet<string>;
  readonly frame: (change: FeedChange) => Frame;
}

/** A request for changes after a cursor, or from now. */
interface Asked {
  accountId: string;
  after: string | undefined;
}

/** Changes, and where they end. */
export interface FeedPage {
  changes: FeedChange[];
  cursor: string;
  /** The cursor was too old or of something else: read the records anew, and go on from here. */
  missed: boolean;
}

/** Changes in one page of a replay, and changes that are looked at in the next one when none was asked for. */
const changesAtOnce = 1_000;
const lookAtOnce = 10_000;
const failedMs = 500;
/** A client that takes nothing of its replay for so long is gone. */
const stalledMs = 60_000;
/**
 * The end steps back for an instant where a transaction of another database of the server ends
 * (`kernel.feed_horizon`): a cursor behind it, which may have been answered just before, is looked at so often before
 * it is none of this feed.
 */
const mostLooks = 4;
const lookAgainMs = 25;
/** Pages that are read at a time for replays and requests: after a restart all clients come back at once. */
const pagesAtOnce = { total: 4, ofOne: 2, waitingOfOne: 10_000 };

/** Reads the feed for clients: streams with what they missed first, and pages. */
export class FeedReader {
  readonly #parts: { sql: Sql; log: Log; live: LiveFeed; epoch: Buffer };
  readonly #pages = new Share(pagesAtOnce);
  /** The last frame of each view: its followers are told of a change one after the other. */
  readonly #frames = new WeakMap<View, { change: StoredChange; frame: Frame }>();
  readonly #closing = new AbortController();

  /** `epoch` is random bytes of the installation, a part of every cursor. */
  constructor(parts: { sql: Sql; log: Log; live: LiveFeed; epoch: Buffer }) {
    this.#parts = parts;
  }

  /**
   * Sends `ready { cursor, missed }` with further fields, what came since `after` as fast as the client reads, and then what
   * comes. The stream is opened once the feed was read: a failure before is an ordinary answer.
   */
  async follow(
    { view, ready = {}, ...asked }: Asked & { view: View; ready?: object },
    open: () => EventStream,
  ): Promise<void> {
    const { accountId } = asked;
    const cursors = new Cursors(this.#parts.epoch, accountId);
    const start = await this.#start(asked, cursors);
    const stream = open();
    stream.send('ready', { cursor: cursors.encode(start.at), missed: start.missed, ...ready });
    const follower: Follower = {
      at: start.at,
      take: (change) => {
        if (!view.topics.has(change.topic)) return;
        const { event, json } = this.#frameOf(change, view, cursors);
        stream.sendText(event, json);
      },
      // The client comes back with its cursor, and is told that it missed something.
      cut: () => stream.end(),
    };
    // A replay is written while its request goes on: its end is that of the stream.
    void this.#replay({ accountId, topics: view.topics }, follower, stream);
  }

  /** Changes of some topics after a cursor; waits up to `waitMs` for one when there is none. */
  async list({
    topics,
    limit,
    waitMs,
    signal,
    ...asked
  }: Asked & { topics: ReadonlySet<string>; limit: number; waitMs: number; signal: AbortSignal }): Promise<FeedPage> {
    const { accountId } = asked;
    const cursors = new Cursors(this.#parts.epoch, accountId);
    const { at: from, missed } = await this.#start(asked, cursors);
    const until = systemClock.monotonic() + waitMs;
    let at = from;
    for (let lookAt = changesAtOnce; ; lookAt = lookAtOnce) {
      const { changes, end, isFull, isCut } = await this.#read(accountId, at, { topics, most: limit, lookAt });
      if (isCut) return { changes: [], cursor: cursors.encode(await this.#last(accountId)), missed: true };
      at = end ?? at;
      const left = until - systemClock.monotonic();
      const isGone = signal.aborted || this.#closing.signal.aborted;
      // Of a page without what is asked for the next one is read at once.
      if (changes.length > 0 || missed || isGone || (left <= 0 && !isFull)) {
        const told = changes.map((change) => changeOf(change, cursors));
        return { changes: told, cursor: cursors.encode(at), missed };
      }
      if (!isFull) await this.#next({ accountId, at, topics }, left, signal);
    }
  }

  /** The cursor of now: with it, whoever reads records afterwards misses no change of them. */
  async end(accountId: string): Promise<string> {
    const cursors = new Cursors(this.#parts.epoch, accountId);
    const { at } = await this.#start({ accountId, after: undefined }, cursors);
    return cursors.encode(at);
  }

  /** Answers who waits for changes, and lets nobody wait any more; for a shutdown. */
  release(): void {
    this.#closing.abort();
  }

  /** Where to begin. A cursor that is none of the account's, or whose next changes are gone, begins now. */
  async #start({ accountId, after }: Asked, cursors: Cursors): Promise<{ at: Position; missed: boolean }> {
    const told = after === undefined ? this.#parts.live.told(accountId) : undefined;
    if (told !== undefined) return { at: told, missed: false };
    const at = after === undefined ? undefined : cursors.decode(after);
    for (let look = 1; ; look += 1) {
      const { floor = beginning, last = floor } = await findEnds(this.#parts.sql, accountId);
      if (after === undefined) return { at: last, missed: false };
      if (at === undefined || at < floor) return { at: last, missed: true };
      if (at <= last) return { at, missed: false };
      if (look === mostLooks) return { at: last, missed: true };
      await new Promise<void>((resolve) => void systemClock.after(lookAgainMs, resolve));
    }
  }

  async #last(accountId: string): Promise<Position> {
    const { floor = beginning, last = floor } = await findEnds(this.#parts.sql, accountId);
    return last;
  }

  async #read(accountId: string, after: Position, reading: Reading): Promise<Page> {
    const read = () => readChanges(this.#parts.sql, [{ accountId, after }], reading);
    const pages = await this.#pages.run(accountId, read);
    return pages.get(accountId) ?? { changes: [], end: undefined, isFull: false, isHeld: false, isCut: false };
  }

  /** Sends what a follower lacks, as fast as its client reads, until it is told with the others. */
  async #replay(
    { accountId, topics }: { accountId: string; topics: ReadonlySet<string> },
    follower: Follower,
    stream: EventStream,
  ): Promise<void> {
    let lookAt = changesAtOnce;
    while (!stream.closed) {
      try {
        const page = await this.#read(accountId, follower.at, { topics, most: changesAtOnce, lookAt });
        tell([follower], page);
        if (!page.isFull) break;
        lookAt = page.changes.length > 0 ? changesAtOnce : lookAtOnce;
        const giveUp = systemClock.after(stalledMs, () => stream.destroy());
        await stream.drained();
        giveUp();
      } catch (err) {
        this.#parts.log.warn({ err }, 'the feed was not read; it is read again');
        await pause(failedMs);
      }
    }
    if (stream.closed) return;
    stream.onClose(this.#parts.live.add(accountId, follower));
  }

  /** Resolves when there is a change of the topics, after `ms`, when the signal is aborted, or at the end of this process. */
  async #next(
    { accountId, at, topics }: { accountId: string; at: Position; topics: ReadonlySet<string> },
    ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const take = ({ topic }: StoredChange): void => {
      if (topics.has(topic)) resolve();
    };
    const leave = this.#parts.live.add(accountId, { at, take, cut: resolve });
    const cancel = systemClock.after(ms, resolve);
    const any = AbortSignal.any([signal, this.#closing.signal]);
    any.addEventListener('abort', () => resolve(), { once: true });
    if (any.aborted) resolve();
    await promise;
    cancel();
    leave();
  }

  #frameOf(change: StoredChange, view: View, cursors: Cursors): Frame {
    const last = this.#frames.get(view);
    if (last?.change === change) return last.frame;
    const frame = view.frame(changeOf(change, cursors));
    this.#frames.set(view, { change, frame });
    return frame;
  }
}

const changeOf = ({ position, topic, op, id, at, record }: StoredChange, cursors: Cursors): FeedChange => ({
  cursor: cursors.encode(position),
  topic,
  op,
  id,
  at,
  record,
});

const pause = (ms: number): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  systemClock.after(ms, resolve);
  return promise;
};
