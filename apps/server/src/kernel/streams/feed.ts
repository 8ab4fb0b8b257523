import { randomBytes } from 'node:crypto';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Sql } from '../db/db.ts';
import { readOrCreateFact } from '../db/facts.ts';
import type { Bus } from '../peers/bus.ts';
import type { Gateways } from '../peers/gateways.ts';
import { LiveFeed } from './feed.live.ts';
import { FeedReader } from './feed.reader.ts';
import { keepDays, nextAccount, trimChanges } from './feed.store.ts';
import { changesWritten, FeedWriter } from './feed.writer.ts';

export type { FeedChange, FeedPage, Frame, View } from './feed.reader.ts';
export { type Change, findHolder, recording } from './feed.store.ts';

/** Random bytes that are part of every cursor. New ones void all cursors: after a restore changes may have other places. */
/** Names the line of changes that cursors are places in. */
export const epochFact = 'feed_epoch';
/** Changes that are kept of an account, and for how many days (design: feed). */
const mostChanges = 200_000;
const keptDays = 7;
/** An account is trimmed when so many of its changes were written here. */
const trimEvery = 10_000;

/** The feed of a process that serves or works: its writer and its reader. */
export interface Feed
  extends Pick<FeedWriter, 'record' | 'recorded'>,
    Pick<FeedReader, 'follow' | 'list' | 'end' | 'release'> {}

/** What it takes to record changes: all that a command has of the feed. */
export interface Recorder {
  readonly feed: Pick<FeedWriter, 'record'>;
}

interface Parts {
  sql: Sql;
  /** For what nobody waits for. */
  background: Sql;
  bus: Bus;
  gateways: Gateways;
  log: Log;
  metrics: Metrics;
}

/** Opens the feed; it is released before it is closed. */
export async function openFeed(parts: Parts): Promise<Feed & { close: () => Promise<void> }> {
  const { sql, bus, gateways, log, metrics } = parts;
  const epoch = await readOrCreateFact(sql, epochFact, () => randomBytes(16));
  const live = new LiveFeed(parts);
  const reader = new FeedReader({ sql, log, live, epoch });
  const trim = createTrimmer(parts);
  const writer = new FeedWriter(parts, (accountIds) => {
    live.wake(accountIds);
    trim(accountIds);
  });
  await bus.subscribe(changesWritten, (accountIds) => live.wake(accountIds as string[] | null));
  gateways.onLost(() => live.wake(null));
  metrics.gauge(
    'svc_feed_horizon_seconds',
    'Age of the oldest open transaction that has written: streams wait for it',
    () => live.horizonSeconds(),
  );
  return {
    record: (db, changes) => writer.record(db, changes),
    recorded: (db, accountIds) => writer.recorded(db, accountIds),
    follow: (asked, open) => reader.follow(asked, open),
    list: (asked) => reader.list(asked),
    end: (accountId) => reader.end(accountId),
    release: () => reader.release(),
    close: () => live.stop(),
  };
}

/** Trims accounts that write much before the night does, one after the other. */
function createTrimmer({ background, log }: Parts): (accountIds: readonly string[]) => void {
  const written = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();
  return (accountIds) => {
    for (const id of accountIds) {
      const count = (written.get(id) ?? 0) + 1;
      written.set(id, count % trimEvery);
      if (count < trimEvery) continue;
      last = last
        .then(() => trimChanges(background, id, mostChanges))
        .catch((err: unknown) => log.warn({ err }, 'changes of an account were not trimmed; the next look does it'));
    }
  };
}

/** Prepares the next days of the feed, drops those past their week, and trims accounts to their bound. */
export async function tidyFeed(sql: Sql): Promise<void> {
  await keepDays(sql, keptDays);
  for (let id = await nextAccount(sql); id !== undefined; id = await nextAccount(sql, id))
    await trimChanges(sql, id, mostChanges);
}
