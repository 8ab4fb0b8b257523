import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Sql } from '../db/db.ts';
import type { Gateways } from '../peers/gateways.ts';
import { type Loop, startLoop } from '../work/loop.ts';
import type { Position } from './feed.cursor.ts';
import { findHolder, type Page, readChanges, type StoredChange } from './feed.store.ts';
import { Followers } from './followers.ts';

/** Somebody who is told of changes as they come, and has all up to `at`. */
export interface Follower {
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
/** Accounts in one look, and changes of all of them. */
const accountsAtOnce = 100;
const changesAtOnce = 1_000;

interface Parts {
  sql: Sql;
  gateways: Gateways;
  log: Log;
}

/**
 * Tells changes to those who follow an account here, as they come. A change is told once every transaction that could add one
 * before it is over, so all followers get the same changes in the same order. Looks are on real time, as the database's
 * transactions are.
 */
export class LiveFeed {
  readonly #parts: Parts;
  readonly #followers = new Followers<Follower>();
  readonly #woken = new Set<string>();
  /** Accounts with changes that wait for an older transaction. */
  readonly #held = new Set<string>();
  readonly #loop: Loop;
  #lookedAt = 0;
  #horizonSeconds = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const work = () => this.#look();
    this.#loop = startLoop(
      { clock: systemClock, log: parts.log },
      { name: 'kernel.feed', everyMs: lookUnprovenMs, work },
    );
  }

  /** Tells `follower` what comes behind its `at` from now on; answers how it leaves. */
  add(accountId: string, follower: Follower): () => void {
    const leave = this.#followers.add(accountId, follower);
    // What came since it was read last.
    this.wake([accountId]);
    return leave;
  }

  /** The last change of the account that its followers here were told of; undefined: it has none. */
  told(accountId: string): Position | undefined {
    return this.#followers.of(accountId)[0]?.at;
  }

  /** There may be new changes of these accounts; null: of any. */
  wake(accountIds: readonly string[] | null): void {
    const before = this.#woken.size;
    for (const id of accountIds ?? this.#followers.keys()) if (this.#followers.has(id)) this.#woken.add(id);
    // In the next turn: a transaction may record several times, and the answer to its request is sent first.
    if (this.#woken.size > before) setImmediate(() => this.#loop.wake());
  }

  /** Age of the oldest transaction that holds changes back, as of the last look. */
  horizonSeconds(): number {
    return this.#horizonSeconds;
  }

  /** Tells nothing more. */
  stop(): Promise<void> {
    return this.#loop.stop();
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
    const most = Math.max(10, Math.floor(changesAtOnce / asked.length));
    const pages = await readChanges(this.#parts.sql, asked, { most });
    for (const { accountId, followers } of asked) {
      const page = pages.get(accountId);
      if (!page) continue;
      tell(followers, page);
      if (page.isFull) this.#woken.add(accountId);
      else if (page.isHeld) this.#held.add(accountId);
    }
  }
}

/** Gives followers what they lack of a page. */
export function tell(followers: readonly Follower[], { changes, end, isCut }: Page): void {
  if (isCut) for (const follower of followers) follower.cut();
  for (const change of changes) {
    for (const follower of followers) {
      if (change.position <= follower.at) continue;
      follower.at = change.position;
      follower.take(change);
    }
  }
  if (end !== undefined) for (const follower of followers) if (follower.at < end) follower.at = end;
}
