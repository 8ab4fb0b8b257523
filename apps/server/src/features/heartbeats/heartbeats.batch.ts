import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { ApiError, toApiError } from '../../kernel/base/errors.ts';
import { announce, type Happened, happenedIn, type HeartbeatHooks, silenceEnds } from './heartbeats.alert.ts';
import { ownersOf } from './heartbeats.keys.sql.ts';
import { isTold, monitorChange } from './heartbeats.changes.ts';
import type { Signal } from './heartbeats.rules.ts';
import { receive } from './heartbeats.steps.ts';
import {
  endSilence,
  insertPings,
  lockAddressed,
  type MonitorRow,
  type NewPing,
  stateOf,
  trimPings,
} from './heartbeats.sql.ts';
import type { Flip } from './history/flips.ts';
import { saveSteps, type Stepped } from './history/keep.ts';

/** Whom a ping names: the hash of a monitor's token; or that of a ping key, and a slug. */
export interface Address {
  hash: Buffer;
  slug?: string;
}

/** A ping as it came. */
interface Arrival extends Signal, Address {
  body: Buffer;
}

interface Waiting extends Arrival {
  /** Answers whether its address is known, once that is committed. */
  done: PromiseWithResolvers<boolean>;
}

/** Pings of one transaction: about 10 ms. */
const mostInBatch = 500;
/** About 10 s of work; then a ping is refused, and its client tries again. */
const mostWaiting = 20_000;
const keptPings = 100;
/** Trimming at every ping would double the writes. */
const trimEvery = 20;

/**
 * Group commit: pings that come while a transaction runs share the next one. A ping is answered when its transaction is
 * committed, and not before.
 */
export class PingBatches {
  readonly #kernel: Kernel;
  readonly #hooks: HeartbeatHooks;
  #waiting: Waiting[] = [];
  #working = false;

  constructor(kernel: Kernel, hooks: HeartbeatHooks) {
    this.#kernel = kernel;
    this.#hooks = hooks;
  }

  /** Resolves when the ping is stored; false when nobody has its address. */
  add(arrival: Arrival): Promise<boolean> {
    if (this.#waiting.length >= mostWaiting) {
      const headers = { 'retry-after': '1' };
      return Promise.reject(new ApiError('unavailable', 'too many pings are waiting; try again', { headers }));
    }
    const done = Promise.withResolvers<boolean>();
    this.#waiting.push({ ...arrival, done });
    void this.#work();
    return done.promise;
  }

  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, mostInBatch);
      await this.#answer(batch);
    }
    this.#working = false;
  }

  /** Stores a batch and answers its pings; when that fails one by one, so that one cannot refuse the others. */
  async #answer(batch: readonly Waiting[]): Promise<void> {
    try {
      const known = await inTransaction(this.#kernel.sql, (tx) => this.#store(tx, batch));
      for (const one of batch) one.done.resolve(known.has(one));
    } catch (error) {
      // A database that is away may have committed, and will not take them one by one either.
      if (batch.length === 1 || toApiError(error).code === 'unavailable') {
        for (const { done } of batch) done.reject(error);
      } else for (const one of batch) await this.#answer([one]);
    }
  }

  /** Stores a batch; answers those of it that belong to a monitor. */
  async #store(tx: Db, batch: readonly Waiting[]): Promise<Set<Waiting>> {
    const byMonitor = await this.#lock(tx, batch);
    const [any] = byMonitor.keys();
    if (!any) return new Set();
    const results = [...byMonitor].map(([row, arrivals]) => fold(row, arrivals));
    await saveSteps(
      tx,
      results.map(({ changed }) => changed),
    );
    await insertPings(
      tx,
      any.now,
      results.flatMap(({ pings }) => pings),
    );
    const old = results.flatMap(({ changed: { id, pingSeq }, before }) =>
      Math.floor(pingSeq / trimEvery) > Math.floor(before / trimEvery)
        ? [{ monitorId: id, seq: pingSeq - keptPings }]
        : [],
    );
    if (old.length > 0) await trimPings(tx, old);
    await this.#kernel.feed.record(
      tx,
      results.flatMap(({ change }) => change ?? []),
    );
    const happened = results.flatMap((result) => result.happened);
    // The end of one by time is the ticker's: it tells what is still down.
    const heard = silenceEnds(happened, [...byMonitor.keys()], false);
    if (heard.length > 0) await endSilence(tx, heard);
    await announce(this.#kernel, tx, this.#hooks, happened);
    return new Set([...byMonitor.values()].flat());
  }

  /** Locks the monitors of a batch; answers each with its pings, in the order in which they came. */
  async #lock(tx: Db, batch: readonly Waiting[]): Promise<Map<MonitorRow, Waiting[]>> {
    const distinct = (ones: readonly Waiting[]): Buffer[] => [
      ...new Map(ones.map(({ hash }) => [textOf(hash), hash])).values(),
    ];
    const bySlug = batch.filter(({ slug }) => slug !== undefined);
    const owners = bySlug.length === 0 ? [] : await ownersOf(tx, distinct(bySlug));
    const accounts = new Map(owners.map(({ key_hash, account_id }) => [textOf(key_hash), account_id]));
    /** Both are looked for as they are once the row is locked: a token may be replaced meanwhile. */
    const addressOf = ({ hash, slug }: Waiting): string =>
      slug === undefined ? textOf(hash) : `${accounts.get(textOf(hash))} ${slug}`;
    const named = new Map(
      bySlug.flatMap((one) => {
        const accountId = accounts.get(textOf(one.hash));
        return accountId === undefined ? [] : [[addressOf(one), { accountId, slug: one.slug as string }] as const];
      }),
    );
    const tokens = distinct(batch.filter(({ slug }) => slug === undefined));
    const rows = await lockAddressed(tx, this.#kernel.clock, tokens, [...named.values()]);
    const byAddress = new Map<string, MonitorRow>();
    for (const row of rows) {
      byAddress.set(textOf(row.token_hash), row);
      if (row.slug !== null) byAddress.set(`${row.account_id} ${row.slug}`, row);
    }
    const known = batch.filter((one) => byAddress.has(addressOf(one)));
    return Map.groupBy(known, (one) => byAddress.get(addressOf(one)) as MonitorRow);
  }
}

const textOf = (hash: Buffer): string => hash.toString('latin1');

/** Applies the pings of one monitor to it, in the order in which they came. */
function fold(row: MonitorRow, arrivals: readonly Arrival[]) {
  const before = row.ping_seq;
  let state = stateOf(row);
  // This transaction may have begun before one that was faster to the row: time does not go back for a monitor.
  const now = Math.max(Date.parse(row.now), state.lastPingAt ?? 0, state.lastStartAt ?? 0);
  let seq = before;
  const pings: NewPing[] = [];
  const happened: Happened[] = [];
  const flips: Flip[] = [];
  for (const { kind, exitCode, rid, body } of arrivals) {
    const step = receive(state, { kind, exitCode, rid }, now);
    happened.push(...happenedIn(row, state, step, body));
    flips.push(...step.flips);
    state = step.state;
    const last = pings.at(-1);
    const repeats = kind === 'success' && last?.kind === 'success' && rid === last.rid && body.equals(last.body);
    if (repeats) last.count += 1;
    else pings.push({ monitorId: row.id, seq: ++seq, kind, exitCode, rid, body, count: 1 });
  }
  const isNews = pings.some(({ kind }) => kind !== 'log') && isTold(row, state, now);
  const toldAt = isNews ? new Date(now).toISOString() : undefined;
  const changed: Stepped = { id: row.id, state, pingSeq: seq, flipSeq: row.flip_seq, flips, toldAt };
  return { changed, before, pings, happened, change: isNews ? monitorChange('updated', row, state) : undefined };
}
