import { AsyncLocalStorage } from 'node:async_hooks';
import type postgres from 'postgres';
import { type Clock, systemClock } from '../base/clock.ts';
import { ApiError } from '../base/errors.ts';
import type { Sql } from './db.ts';

/** On whose behalf something runs. */
interface Asker {
  readonly accountId: string;
  /** It has a connection already: to wait for a second one could be for ever. */
  readonly holds: boolean;
}

const asking = new AsyncLocalStorage<Asker>();
/** For whom open routes ask: what they have waiting holds up no lease of the platform. */
export const strangers = 'strangers';
/** What the platform does for all. */
const everybody: Asker = { accountId: '', holds: false };

/** Runs `work` on behalf of an account: what it asks a fair pool for is counted there. */
export const onBehalfOf = <T>(accountId: string, work: () => T): T => asking.run({ accountId, holds: false }, work);

/** A statement is taken for a short one until it has run for so long: those of other accounts may follow it. */
const shortMs = 25;
/** Whose last ones took this long is not followed by others for a while. */
const longMs = 200;
const rememberedMs = 60_000;
const mostRemembered = 10_000;
/** An account whose statements took this long within a minute has one connection, as long as others ask for something too. */
const mostSpentMs = 30_000;
/** One statement counts for no more: longer ones mostly wait for something. */
const mostOfOneMs = 5_000;
const minuteMs = 60_000;
const otherWithinMs = 10_000;
/** With so many connections idle nobody is held up. */
const leastIdle = 2;
/** So often what is known of an account is written anew. */
const notedEveryMs = 1_000;
/** Statements under way on one connection, the one that runs among them. */
const mostBehind = 16;
/** As many as there are connections of clients: it is they that wait. */
const mostWaiting = 20_000;

/** What postgres.js keeps of a query until it is sent. */
interface Pending {
  handler: ((query: Pending) => unknown) & { debug?: boolean };
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
}

/** A statement, or a transaction, that is under way. */
interface Piece {
  readonly accountId: string;
}

/** One connection, and what is under way on it, in its order. */
interface Lane {
  readonly sql: Sql;
  readonly send: Pending['handler'];
  readonly pieces: Piece[];
  /** When the first of them began. */
  since: number;
  /** A transaction has it, or will: nothing follows. */
  isTaken: boolean;
}

/** What waits for a connection. */
interface Waiting {
  go: (lane: Lane) => void;
  refuse: (error: ApiError) => void;
}

/**
 * A pool of connections that all accounts share. Each of `connections` is a pool of one; the last is a spare. An account has
 * statements on all but one of the others at most, or on one where its statements took 30 s of this minute and others ask too. What
 * finds none free follows on one with statements of its own, or with short ones of others: a way to the database is shared, as postgres.js does it, but never with a statement that takes long.
 * What then is left waits, and accounts take turns. So one that asks for much holds up another one's statement by no more than
 * those of a few milliseconds. A transaction has its connection alone until it is over; what is asked within it besides never
 * waits for a place, which it might hold itself: it gets the spare. Not for cursors. Times are real, whatever a test's clock says.
 */
export function fairPool(connections: readonly Sql[], clock: Pick<Clock, 'monotonic'> = systemClock): Sql {
  const [spare, ...lanes] = connections.map(laneOf).toReversed();
  const [first] = lanes;
  if (!spare || !first) throw new Error('a pool has two connections at least');
  const places = new Places(lanes, clock);

  const carry = (query: Pending, lane: Lane, accountId: string): void => {
    const { resolve, reject } = query;
    const piece = places.begin(lane, accountId);
    query.resolve = (result) => {
      places.end(lane, piece, true);
      resolve(result);
    };
    query.reject = (error) => {
      // What failed may have waited for others.
      places.end(lane, piece, false);
      reject(error);
    };
    lane.send(query);
  };
  const dispatch = (query: Pending): void => {
    const { accountId, holds } = asking.getStore() ?? everybody;
    if (holds) return carry(query, places.choose(accountId) ?? spare, accountId);
    places.ask(accountId, { go: (lane) => carry(query, lane, accountId), refuse: (error) => query.reject(error) });
  };
  const fair = <T>(made: T): T => {
    const query = made as T & Pending;
    if (typeof query.handler === 'function') query.handler = dispatch;
    return made;
  };

  const transact = async (lane: Lane, accountId: string, work: Work): Promise<unknown> => {
    const piece = places.begin(lane, accountId);
    lane.isTaken = true;
    try {
      return await asking.run({ accountId, holds: true }, () => lane.sql.begin(work as never));
    } finally {
      lane.isTaken = false;
      places.end(lane, piece, true);
    }
  };
  const begin = async (work: Work): Promise<unknown> => {
    const { accountId, holds } = asking.getStore() ?? everybody;
    if (holds) return transact(places.choose(accountId) ?? spare, accountId, work);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    places.ask(accountId, { go: (lane) => resolve(transact(lane, accountId, work)), refuse: reject });
    return promise;
  };

  const { sql } = first;
  const own: Record<string | symbol, unknown> = {
    begin,
    unsafe: (...args: Parameters<Sql['unsafe']>) => fair(sql.unsafe(...args)),
  };
  return new Proxy(sql, {
    apply: (target, self, args) => fair(Reflect.apply(target as never, self, args)),
    get: (target, name, receiver) => own[name] ?? (Reflect.get(target, name, receiver) as unknown),
  });
}

type Work = (tx: postgres.TransactionSql) => unknown;

/** Who has which connection, and who waits for one. */
class Places {
  readonly #lanes: readonly Lane[];
  readonly #mostOfOne: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Accounts that wait, the next one first. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** Accounts that had statements, the one that was noted last at the end; and whether one took long. */
  readonly #known = new Map<string, { at: number; isLong: boolean }>();
  /** Milliseconds that statements of each account took since this minute began. */
  readonly #spent = new Map<string, number>();
  #minuteEnds = 0;
  /** The last two accounts that had statements, the platform itself aside. */
  #latest: { accountId: string; at: number }[] = [];
  #waitingInAll = 0;
  #isComing = false;

  constructor(lanes: readonly Lane[], clock: Pick<Clock, 'monotonic'>) {
    this.#lanes = lanes;
    this.#mostOfOne = Math.max(1, lanes.length - 1);
    this.#clock = clock;
  }

  /** A connection for a statement of an account; undefined while it has to wait. */
  choose(accountId: string): Lane | undefined {
    const at = this.#clock.monotonic();
    const isOwn = (piece: Piece): boolean => piece.accountId === accountId;
    let held = 0;
    for (const { pieces } of this.#lanes) if (pieces.some(isOwn)) held += 1;
    const idle = this.#lanes.filter(({ pieces, isTaken }) => pieces.length === 0 && !isTaken).length;
    const mayHaveAnother = held < (idle < leastIdle && this.#isOver(accountId, at) ? 1 : this.#mostOfOne);
    let own: Lane | undefined;
    let short: Lane | undefined;
    for (const lane of this.#lanes) {
      const { pieces } = lane;
      if (lane.isTaken || pieces.length >= mostBehind) continue;
      if (pieces.length === 0) {
        if (mayHaveAnother) return lane;
      } else if (pieces.every(isOwn)) own = shorter(own, lane);
      else if ((mayHaveAnother || pieces.some(isOwn)) && this.#isShort(lane, at)) short = shorter(short, lane);
    }
    return own ?? short;
  }

  /** Calls `go` with a connection, now or when the account's turn comes. */
  ask(accountId: string, one: Waiting): void {
    const line = this.#waiting.get(accountId);
    const lane = line === undefined ? this.choose(accountId) : undefined;
    if (lane) return one.go(lane);
    if (this.#waitingInAll >= mostWaiting) {
      const message = 'too much waits for the database; try again in a moment';
      return one.refuse(new ApiError('unavailable', message, { headers: { 'retry-after': '1' } }));
    }
    this.#waitingInAll += 1;
    if (line) line.push(one);
    else this.#waiting.set(accountId, [one]);
  }

  begin(lane: Lane, accountId: string): Piece {
    const piece = { accountId };
    if (lane.pieces.push(piece) === 1) lane.since = this.#clock.monotonic();
    return piece;
  }

  end(lane: Lane, piece: Piece, isDone: boolean): void {
    const at = this.#clock.monotonic();
    // One that could not be sent ends before those that run.
    const index = lane.pieces.indexOf(piece);
    // It ended before: postgres.js may fail what it has answered when the connection breaks.
    if (index === -1) return;
    lane.pieces.splice(index, 1);
    if (index === 0) {
      this.#note(piece.accountId, at - lane.since > longMs, at);
      if (isDone) this.#spend(piece.accountId, Math.min(at - lane.since, mostOfOneMs), at);
      lane.since = at;
    }
    // Not at once: a connection that broke fails what was under way on it first, and would still take more.
    if (this.#waitingInAll === 0 || this.#isComing) return;
    this.#isComing = true;
    queueMicrotask(() => this.#next());
  }

  /** Lets those go on that may, one of each account in turn. */
  #next(): void {
    this.#isComing = false;
    for (let went = true; went && this.#waitingInAll > 0; ) {
      went = false;
      // Those that were looked at already stand at the end, and are not looked at again.
      for (const [accountId, line] of new Map(this.#waiting)) {
        const lane = this.choose(accountId);
        if (!lane) continue;
        went = true;
        const one = line.shift();
        this.#waiting.delete(accountId);
        if (line.length > 0) this.#waiting.set(accountId, line);
        this.#waitingInAll -= 1;
        one?.go(lane);
      }
    }
  }

  /** Whether statements of others may follow on it. An account of which nothing is known might have a long one there. */
  #isShort({ pieces, since }: Lane, at: number): boolean {
    if (at - since >= shortMs) return false;
    return pieces.every(({ accountId }) => {
      const last = this.#known.get(accountId);
      return last !== undefined && !(last.isLong && at - last.at < rememberedMs);
    });
  }

  /** Whether an account had its share of the minute, and others ask too: alone it may have all there is. Strangers are many. */
  #isOver(accountId: string, at: number): boolean {
    if (accountId === everybody.accountId || accountId === strangers || at >= this.#minuteEnds) return false;
    if ((this.#spent.get(accountId) ?? 0) < mostSpentMs) return false;
    return this.#latest.some((other) => other.accountId !== accountId && at - other.at < otherWithinMs);
  }

  #spend(accountId: string, ms: number, at: number): void {
    if (accountId === everybody.accountId) return;
    if (at >= this.#minuteEnds) {
      this.#spent.clear();
      this.#minuteEnds = at + minuteMs;
    }
    if (this.#spent.size < mostRemembered || this.#spent.has(accountId))
      this.#spent.set(accountId, (this.#spent.get(accountId) ?? 0) + ms);
    const [last] = this.#latest;
    if (last?.accountId === accountId) last.at = at;
    else this.#latest = [{ accountId, at }, ...(last ? [last] : [])];
  }

  #note(accountId: string, isLong: boolean, at: number): void {
    const last = this.#known.get(accountId);
    if (last && !isLong && at - last.at < (last.isLong ? rememberedMs : notedEveryMs)) return;
    this.#known.delete(accountId);
    this.#known.set(accountId, { at, isLong });
    if (this.#known.size <= mostRemembered) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

function laneOf(sql: Sql): Lane {
  const { handler } = sql`` as unknown as Pending;
  return { sql, send: handler, pieces: [], since: 0, isTaken: false };
}

/** The one on which fewer are under way. */
const shorter = (one: Lane | undefined, other: Lane): Lane =>
  one !== undefined && one.pieces.length <= other.pieces.length ? one : other;
