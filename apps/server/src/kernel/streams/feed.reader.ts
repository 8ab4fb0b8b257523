import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Sql } from '../db/db.ts';
import type { Gateways } from '../peers/gateways.ts';
import { Share } from '../share/share.ts';
import { type Loop, startLoop } from '../work/loop.ts';
import { beginning, Cursors, type Position } from './feed.cursor.ts';
import { findEnds, findHolder, type Page, readChanges, type StoredChange } from './feed.store.ts';
import { Followers } from './followers.ts';
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

/** Somebody who is told of changes as they come, and has all up to `at`. */
interface Follower {
  at: Position;
  take(change: StoredChange): void;
  /** Changes that it lacks are gone. */
  cut(): void;
}

/** An account that is followed is looked at this often, and while messages may be missing. */
const lookEveryMs = 5_000;
const lookUnprovenMs = 1_000;
/** Changes that wait for an older transaction are asked for again after this. */
const heldMs = 20;
const failedMs = 500;
const stalledMs = 60_000;
/** Accounts in one look, and changes of all of them; of a replay, changes in one page. */
const accountsAtOnce = 100;
const changesAtOnce = 1_000;
/** Pages that are read at a time for replays and requests: after a restart all clients come back at once. */
const pagesAtOnce = { total: 4, ofOne: 2, waitingOfOne: 10_000 };

interface Parts {
  sql: Sql;
  gateways: Gateways;
  log: Log;
}

/**
 * Reads the feed for those who follow it here. A change is told once every transaction that could add one before it is over,
 * so all followers get the same changes in the same order. Looks are on real time, as the database's transactions are.
 */
export class FeedReader {
  readonly #parts: Parts;
  readonly #epoch: Buffer;
  readonly #followers = new Followers<Follower>();
  readonly #woken = new Set<string>();
  /** Accounts with changes that wait for an older transaction. */
  readonly #held = new Set<string>();
  readonly #pages = new Share(pagesAtOnce);
  /** The last frame of each view: its followers are told of a change one after the other. */
  readonly #frames = new WeakMap<View, { change: StoredChange; frame: Frame }>();
  readonly #loop: Loop;
  readonly #closing = new AbortController();
  #lookedAt = 0;
  #horizonSeconds = 0;

  constructor(parts: Parts, epoch: Buffer) {
    this.#parts = parts;
    this.#epoch = epoch;
    const work = () => this.#look();
    this.#loop = startLoop(
      { clock: systemClock, log: parts.log },
      { name: 'kernel.feed', everyMs: lookUnprovenMs, work },
    );
  }

  /** There may be new changes of these accounts; null: of any. */
  wake(accountIds: readonly string[] | null): void {
    const before = this.#woken.size;
    for (const id of accountIds ?? this.#followers.keys()) if (this.#followers.has(id)) this.#woken.add(id);
    if (this.#woken.size > before) this.#loop.wake();
  }

  /** Age of the oldest transaction that holds changes back, as of the last look. */
  horizonSeconds(): number {
    return this.#horizonSeconds;
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
    const cursors = new Cursors(this.#epoch, accountId);
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
    void this.#replay(accountId, follower, stream);
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
    const cursors = new Cursors(this.#epoch, accountId);
    const { at: from, missed } = await this.#start(asked, cursors);
    const until = systemClock.monotonic() + waitMs;
    for (let at = from; ; ) {
      const page = await this.#read(accountId, at, limit);
      if (page.isCut) return { changes: [], cursor: cursors.encode(await this.#end(accountId)), missed: true };
      at = page.changes.at(-1)?.position ?? at;
      const changes = page.changes.filter(({ topic }) => topics.has(topic));
      const left = until - systemClock.monotonic();
      const isOver = left <= 0 || signal.aborted || this.#closing.signal.aborted;
      // Of a page without what is asked for the next one is read at once.
      if (changes.length > 0 || missed || (isOver && !page.isFull)) {
        const told = changes.map((change) => changeOf(change, cursors));
        return { changes: told, cursor: cursors.encode(at), missed };
      }
      if (!page.isFull) await this.#next({ accountId, at, topics }, left, signal);
    }
  }

  /** Answers who waits for changes, and looks no more. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#loop.stop();
  }

  /** Where to begin. A cursor that is none of the account's, or whose next changes are gone, begins now. */
  async #start({ accountId, after }: Asked, cursors: Cursors): Promise<{ at: Position; missed: boolean }> {
    const live = this.#followers.of(accountId)[0]?.at;
    if (after === undefined && live !== undefined) return { at: live, missed: false };
    const { floor = beginning, last = floor } = await findEnds(this.#parts.sql, accountId);
    if (after === undefined) return { at: last, missed: false };
    const at = cursors.decode(after);
    const isKept = at !== undefined && at >= floor && at <= last;
    return isKept ? { at, missed: false } : { at: last, missed: true };
  }

  async #end(accountId: string): Promise<Position> {
    const { floor = beginning, last = floor } = await findEnds(this.#parts.sql, accountId);
    return last;
  }

  async #read(accountId: string, after: Position, limit: number): Promise<Page> {
    const read = () => readChanges(this.#parts.sql, [{ accountId, after }], limit);
    const pages = await this.#pages.run(accountId, read);
    return pages.get(accountId) ?? { changes: [], isFull: false, isHeld: false, isCut: false };
  }

  /** Sends what a follower lacks, as fast as its client reads, until it is told with the others. */
  async #replay(accountId: string, follower: Follower, stream: EventStream): Promise<void> {
    while (!stream.closed) {
      try {
        const page = await this.#read(accountId, follower.at, changesAtOnce);
        tell([follower], page);
        if (!page.isFull) break;
        // A client that takes nothing for so long is gone.
        const giveUp = systemClock.after(stalledMs, () => stream.destroy());
        await stream.drained();
        giveUp();
      } catch (err) {
        this.#parts.log.warn({ err }, 'the feed was not read; it is read again');
        await pause(failedMs);
      }
    }
    if (stream.closed) return;
    stream.onClose(this.#followers.add(accountId, follower));
    // What came since the last page.
    this.wake([accountId]);
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
    const leave = this.#followers.add(accountId, { at, take, cut: resolve });
    const cancel = systemClock.after(ms, resolve);
    const any = AbortSignal.any([signal, this.#closing.signal]);
    any.addEventListener('abort', () => resolve(), { once: true });
    if (any.aborted) resolve();
    this.wake([accountId]);
    await promise;
    cancel();
    leave();
  }

  /** Looks at accounts that have something new, and now and then at all; answers when to look again. */
  async #look(): Promise<number | void> {
    const { gateways, log, sql } = this.#parts;
    const everyMs = gateways.cachesAreTrusted() ? lookEveryMs : lookUnprovenMs;
    const isDue = systemClock.monotonic() - this.#lookedAt >= everyMs;
    if (isDue) this.#lookedAt = systemClock.monotonic();
    for (const id of isDue ? this.#followers.keys() : this.#held) this.#woken.add(id);
    this.#held.clear();
    const accountIds = [...this.#woken].slice(0, accountsAtOnce);
    for (const id of accountIds) this.#woken.delete(id);
    try {
      if (isDue) this.#horizonSeconds = (await findHolder(sql))?.seconds ?? 0;
      await this.#tellAll(accountIds);
    } catch (err) {
      log.warn({ err }, 'the feed was not read; it is read again');
      for (const id of accountIds) this.#woken.add(id);
      return failedMs;
    }
    if (this.#woken.size > 0) return 0;
    return this.#held.size > 0 ? heldMs : undefined;
  }

  /** Reads these accounts once for all that follow them. */
  async #tellAll(accountIds: readonly string[]): Promise<void> {
    // Who comes while the database is asked may lack more than what is asked for: it is woken by itself.
    const asked = accountIds.flatMap((accountId) => {
      const followers = this.#followers.of(accountId);
      const [first] = followers.map(({ at }) => at).sort();
      return first === undefined ? [] : [{ accountId, followers, after: first }];
    });
    if (asked.length === 0) return;
    const limit = Math.max(10, Math.floor(changesAtOnce / asked.length));
    const pages = await readChanges(this.#parts.sql, asked, limit);
    for (const { accountId, followers } of asked) {
      const page = pages.get(accountId);
      if (!page) continue;
      tell(followers, page);
      if (page.isFull) this.#woken.add(accountId);
      else if (page.isHeld) this.#held.add(accountId);
    }
  }

  #frameOf(change: StoredChange, view: View, cursors: Cursors): Frame {
    const last = this.#frames.get(view);
    if (last?.change === change) return last.frame;
    const frame = view.frame(changeOf(change, cursors));
    this.#frames.set(view, { change, frame });
    return frame;
  }
}

/** Gives followers what they lack of a page. */
function tell(followers: readonly Follower[], { changes, isCut }: Page): void {
  if (isCut) for (const follower of followers) follower.cut();
  for (const change of changes) {
    for (const follower of followers) {
      if (change.position <= follower.at) continue;
      follower.at = change.position;
      follower.take(change);
    }
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
