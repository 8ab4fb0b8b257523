import type { Kernel } from '../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../kernel/db/db.ts';
import { ApiError, toApiError } from '../../kernel/http/errors.ts';
import { announce, type Happened, happenedIn, type HeartbeatHooks } from './heartbeats.alert.ts';
import { receive, type Signal } from './heartbeats.rules.ts';
import {
  type Changed,
  insertPings,
  lockByToken,
  type MonitorRow,
  type NewPing,
  saveStates,
  stateOf,
  trimPings,
} from './heartbeats.sql.ts';

/** A ping as it came. */
export interface Arrival extends Signal {
  tokenHash: Buffer;
  body: Buffer;
}

interface Waiting extends Arrival {
  /** Answers whether the token is known, once that is committed. */
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

  /** Resolves when the ping is stored; false when nobody has its token. */
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
      for (const { done, tokenHash } of batch) done.resolve(known.has(tokenHash.toString('latin1')));
    } catch (error) {
      // A database that is away may have committed, and will not take them one by one either.
      if (batch.length === 1 || toApiError(error).code === 'unavailable') {
        for (const { done } of batch) done.reject(error);
      } else for (const one of batch) await this.#answer([one]);
    }
  }

  /** Stores a batch; answers the hashes that belong to a monitor. */
  async #store(tx: Db, batch: readonly Waiting[]): Promise<Set<string>> {
    const byHash = Map.groupBy(batch, ({ tokenHash }) => tokenHash.toString('latin1'));
    const hashes = [...byHash.values()].map(([first]) => (first as Waiting).tokenHash);
    const monitors = await lockByToken(tx, this.#kernel.clock, hashes);
    const [any] = monitors;
    if (!any) return new Set();
    const results = monitors.map((row) => fold(row, byHash.get(row.token_hash.toString('latin1')) ?? []));
    await saveStates(
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
    await announce(
      this.#kernel,
      tx,
      this.#hooks,
      results.flatMap(({ happened }) => happened),
    );
    return new Set(monitors.map((row) => row.token_hash.toString('latin1')));
  }
}

/** What the pings of one monitor make of it, in the order in which they came. */
function fold(row: MonitorRow, arrivals: readonly Arrival[]) {
  const before = row.ping_seq;
  let state = stateOf(row);
  // This transaction may have begun before one that was faster to the row: time does not go back for a monitor.
  const now = Math.max(Date.parse(row.now), state.lastPingAt ?? 0, state.lastStartAt ?? 0);
  let seq = before;
  const pings: NewPing[] = [];
  const happened: Happened[] = [];
  for (const { kind, exitCode, rid, body } of arrivals) {
    const step = receive(state, { kind, exitCode, rid }, now);
    happened.push(...happenedIn(row, state, step));
    state = step.state;
    const last = pings.at(-1);
    const repeats = kind === 'success' && last?.kind === 'success' && rid === last.rid && body.equals(last.body);
    if (repeats) last.count += 1;
    else pings.push({ monitorId: row.id, seq: ++seq, kind, exitCode, rid, body, count: 1 });
  }
  const changed: Changed = { id: row.id, state, pingSeq: seq };
  return { changed, before, pings, happened };
}
