import { findSpec } from '../work/specs.sql.ts';
import { listIdleChains, listOrphanedSteps, listSteps } from '../scheduler.runs.sql.ts';
import { toApiError } from '../../../kernel/base/errors.ts';
import { type Instant, readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import {
  type Advance,
  advanceSchedules,
  dealDue,
  deletePause,
  type DueFilter,
  isPaused,
  keyEnded,
  lockDue,
  lockEndedPauses,
  lockSchedule,
  pauseChange,
  planTick,
  probeSchedules,
  type ScheduleRow,
  takeMissed,
  touchLastRun,
  tryLockSchedule,
} from '../../schedules/index.ts';
import { admit, type RunCandidate, cancelActive, moveLocked, type SchedulerParts } from '../scheduler.admit.ts';
import { tellLate } from '../outcomes/alerts.ts';
import { nextChainMove } from '../scheduler.rules.ts';
import { moveRun } from '../outcomes/settle.ts';
import { lockRun, type RunRow } from '../scheduler.sql.ts';
import { listKeyless, listOverdue, probeRuns, takeLate, timeoutGraceSeconds } from './due.sql.ts';
import { byTime, move } from '../scheduler.moves.ts';

/** Schedules a transaction takes: 10,000 that are due at once are shared by all gateways in pieces of this size. */
const batch = 500;
/** Schedules that one deal takes, half a second's work: one that becomes due meanwhile is in the next deal, by its account's turn. */
const mostAtOnce = 5_000;
const longestSleepMs = 1_000;
const soonMs = 20;
/** A schedule that fails is set aside this long. */
const setAsideMs = 60_000;
/** What the database could not do is not the schedule's fault: after 60 s it would have missed its slot. */
const awayMs = 5_000;
/** A schedule this late is worth a line in the log, one a minute. */
const lateMs = 10_000;
const warnEveryMs = 60_000;
/** Nothing outlives its key by much more. */
const keysEveryMs = 2_000;

/** Turns up to `batch` due schedules into runs. Answers how many schedules moved. */
export async function tickSchedules(parts: SchedulerParts, filter: DueFilter = {}): Promise<number> {
  const { sql, clock } = parts.kernel;
  return inTransaction(sql, async (db) => {
    const now = await readNow(db, clock);
    const due = await lockDue(db, now.iso, batch, filter);
    if (due.length === 0) return 0;
    const plans = due.map((schedule) => ({ schedule, plan: planTick(schedule, now.ms) }));
    const candidates = plans.flatMap(({ schedule, plan }) =>
      plan.due.map(({ at, ...due }): RunCandidate => ({ schedule, scheduledFor: at, ...due })),
    );
    if (candidates.length > 0) await admit(parts, db, candidates, now);
    const advances = plans.map(
      ({ schedule, plan }): Advance => ({
        id: schedule.id,
        past: schedule.past.length,
        slots: plan.slots,
        missed_slot: plan.missed ?? null,
      }),
    );
    await advanceSchedules(db, advances);
    return due.length;
  });
}

/** Ends a pause; with backfill, each schedule that missed slots gets one run for the last of them. Answers how many. */
export async function endPause(
  parts: SchedulerParts,
  db: Db,
  accountId: string,
  backfill: boolean,
  now: Instant,
): Promise<number> {
  await deletePause(db, accountId);
  const missed = await takeMissed(db, accountId);
  const candidates = missed.map(
    (schedule): RunCandidate => ({ schedule, scheduledFor: schedule.missed_slot as string, origin: 'catch_up' }),
  );
  await parts.kernel.feed.record(db, [pauseChange(accountId, false)]);
  await parts.changes.wake(db, accountId);
  if (!backfill || candidates.length === 0) return 0;
  return (await admit(parts, db, candidates, now)).length;
}

/** Ends the pauses that have run out. */
async function tickPauses(parts: SchedulerParts): Promise<void> {
  const { sql, clock } = parts.kernel;
  await inTransaction(sql, async (db) => {
    const now = await readNow(db, clock);
    for (const pause of await lockEndedPauses(db, now.iso)) {
      await endPause(parts, db, pause.account_id, pause.resume_policy === 'backfill', now);
    }
  });
}

/** Ends leases, attempts and waits whose time is over, and says which runs nobody started. */
export async function tickRuns(parts: SchedulerParts): Promise<void> {
  const { kernel } = parts;
  const { sql, clock } = kernel;
  for (const overdue of await listOverdue(sql, (await readNow(sql, clock)).iso, batch)) {
    await apart(kernel, overdue.id, (db) => moveRun(parts, db, overdue, byTime(timeoutGraceSeconds * 1000)));
  }
  await inTransaction(sql, async (db) => {
    const { iso: now } = await readNow(db, clock);
    for (const run of await takeLate(db, now, batch)) await tellLate(kernel, db, run);
  });
}

/** Ends runs whose key has ended, wherever they are: hosts and gateways hear of it as of a cancellation. */
async function tickKeys(parts: SchedulerParts): Promise<void> {
  const { kernel } = parts;
  for (const run of await listKeyless(kernel.sql, batch)) {
    await apart(kernel, run.id, (db) => moveRun(parts, db, run, move('loseKey', { error: keyEnded })));
  }
}

/** Moves chains on: creates the next step, or ends the chain. Each move is a transaction of its own. */
export async function tickChains(parts: SchedulerParts): Promise<void> {
  const { kernel } = parts;
  const { sql, clock } = kernel;
  for (const chain of await listIdleChains(sql, (await readNow(sql, clock)).iso, batch)) {
    await apart(kernel, chain.id, async (db) =>
      advanceChain(parts, db, chain.id, chain.schedule_id, await readNow(db, clock)),
    );
  }
  for (const step of await listOrphanedSteps(sql, batch)) {
    await apart(kernel, step.id, async (db) => {
      const now = await readNow(db, clock);
      await lockSchedule(db, step.schedule_id);
      await cancelActive(parts, db, step.schedule_id, now, 'its chain is over', step.id);
    });
  }
}

/** A transaction that holds up no other: what one account has stored must not stop the rest. */
async function apart(kernel: Kernel, run: string, work: (db: Db) => Promise<unknown>): Promise<void> {
  try {
    await inTransaction(kernel.sql, work);
  } catch (err) {
    kernel.log.error({ err, run }, 'a run could not be moved; it is tried again');
  }
}

async function advanceChain(
  parts: SchedulerParts,
  db: Db,
  id: string,
  scheduleId: string,
  now: Instant,
): Promise<void> {
  await lockSchedule(db, scheduleId);
  const found = await lockRun(db, id);
  if (!found) return;
  const [started] = await moveLocked(parts, db, [found], now, move('startChain'));
  if (started) await touchLastRun(db, [scheduleId], now.iso);
  const chain = started ?? found;
  if (chain.state !== 'running') return;
  const steps = await listSteps(db, id, chain.started_at as string);
  const spec = await findSpec(db, chain);
  if (!spec) return;
  const next = nextChainMove(spec as never, steps);
  if (next.do === 'wait') return;
  if (next.do === 'step') {
    // While the account is paused nothing is created: the chain waits.
    if (await isPaused(db, chain.account_id, now.iso)) return;
    // Never waits for a second lock: others take theirs in another order. The next tick tries again.
    const schedule = await tryLockSchedule(db, next.scheduleId);
    if (schedule === 'locked') return;
    const own = schedule?.account_id === chain.account_id ? schedule : undefined;
    const error = own ? await startStep(parts, db, chain, own, next.index, now) : 'its schedule is gone';
    if (error === undefined) return;
    await finishChain(parts, db, chain, `step ${next.index + 1}: ${error}`);
    return;
  }
  await finishChain(parts, db, chain, next.error);
}

/** Answers why the step could not be created; undefined: it was. */
async function startStep(
  parts: SchedulerParts,
  db: Db,
  chain: RunRow,
  schedule: ScheduleRow,
  step: number,
  now: Instant,
): Promise<string | undefined> {
  const candidate: RunCandidate = {
    schedule,
    scheduledFor: now.iso,
    origin: 'chain',
    parent: { runId: chain.id, step },
    keyId: chain.key_id,
  };
  const runs = await admit(parts, db, [candidate], now);
  return runs.length === 0 ? 'a limit of its schedule forbids it' : undefined;
}

async function finishChain(parts: SchedulerParts, db: Db, chain: RunRow, error: string | undefined) {
  await moveRun(parts, db, chain, move('finishChain', { ok: error === undefined, error }));
}

/** Runs every tick of this gateway, at the instant the next schedule is due and at least once a second. */
export class Ticker {
  readonly #parts: SchedulerParts;
  readonly #onCloud: () => void;
  /** Schedules that fail, and until when they are left alone. */
  readonly #setAside = new Map<string, number>();
  #stopped = false;
  /** When keys were looked at last; of `clock.monotonic()`. */
  #keysAt = Number.NEGATIVE_INFINITY;
  #loop: Loop | undefined;
  #warnedAt = Number.NEGATIVE_INFINITY;

  /** `onCloud` is called when there are runs for the cloud. */
  constructor(parts: SchedulerParts, onCloud: () => void) {
    this.#parts = parts;
    this.#onCloud = onCloud;
    parts.changes.onWake(() => this.#loop?.wake());
    const help = 'How late the longest due schedule is';
    parts.kernel.metrics.gauge('svc_schedule_lag_seconds', help, () => this.#readLag());
  }

  /** Ticks from now on. */
  start(): void {
    const work = () => this.#tick();
    this.#loop = startLoop(this.#parts.kernel, {
      name: 'scheduler.tick',
      everyMs: longestSleepMs,
      isVital: true,
      work,
    });
    this.#loop.wake();
  }

  /** Lets a tick that is under way end, and begins no other. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop?.stop();
  }

  /** Asked of the rows: a process that does not tick, or whose ticker hangs, must not say that none is late. */
  async #readLag(): Promise<number> {
    const { sql, clock, log } = this.#parts.kernel;
    try {
      const { ms } = await probeSchedules(sql, clock, []);
      return ms === null ? 0 : Math.max(0, -ms) / 1_000;
    } catch (err) {
      log.debug({ err }, 'how late schedules are cannot be read');
      return Number.NaN;
    }
  }

  /** More schedules are due than this installation takes: it says so, once a minute. */
  #noteLag(ms: number): void {
    const { clock, log } = this.#parts.kernel;
    if (ms < lateMs || clock.monotonic() - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = clock.monotonic();
    log.warn(
      { lag_s: Math.round(ms / 1_000) },
      'schedules are late: add a worker, or lower SVC_QUOTA_SLOTS_PER_MINUTE',
    );
  }

  /** Takes what is due in pieces, two at a time: one computes while the database works for the other. */
  async #takeDue(): Promise<void> {
    const { sql, clock } = this.#parts.kernel;
    const all = await dealDue(sql, (await readNow(sql, clock)).iso, [...this.#setAside.keys()]);
    const dealt = all.slice(0, mostAtOnce);
    const drain = async (): Promise<void> => {
      while (!this.#stopped && dealt.length > 0) await this.#takePiece(dealt.splice(0, batch));
    };
    await Promise.all([drain(), drain()]);
  }

  /** When a piece fails, each schedule of it is taken by itself, and one that fails again is set aside. */
  async #takePiece(ids: readonly string[]): Promise<void> {
    const { clock, log } = this.#parts.kernel;
    try {
      await tickSchedules(this.#parts, { ids });
      return;
    } catch (err) {
      log.error({ err }, 'due schedules could not be taken together');
    }
    for (const id of ids) {
      try {
        await tickSchedules(this.#parts, { ids: [id] });
      } catch (err) {
        const ms = toApiError(err).code === 'unavailable' ? awayMs : setAsideMs;
        this.#setAside.set(id, clock.monotonic() + ms);
        log.error({ err, schedule: id, ms }, 'a due schedule could not be taken; it is set aside');
      }
    }
  }

  /** Answers in how many milliseconds the next tick is due. */
  async #tick(): Promise<number> {
    const { sql, clock } = this.#parts.kernel;
    for (const [id, until] of this.#setAside) if (until <= clock.monotonic()) this.#setAside.delete(id);
    const { ms, pauses } = await probeSchedules(sql, clock, [...this.#setAside.keys()]);
    const isDue = ms !== null && ms <= 0;
    this.#noteLag(isDue ? -ms : 0);
    if (isDue) await this.#takeDue();
    const runs = await probeRuns(sql, clock);
    const looksAtKeys = clock.monotonic() - this.#keysAt >= keysEveryMs;
    if (looksAtKeys) this.#keysAt = clock.monotonic();
    await Promise.all([
      looksAtKeys && this.#attempt(tickKeys),
      pauses && this.#attempt(tickPauses),
      (runs.overdue || runs.late) && this.#attempt(tickRuns),
      runs.chains && this.#attempt(tickChains),
    ]);
    if (runs.cloud) this.#onCloud();
    // Due but locked by another gateway: do not retry at once.
    return isDue ? soonMs : Math.min(longestSleepMs, Math.max(ms ?? longestSleepMs, soonMs));
  }

  /** One part of a tick; its failure is not that of the others. */
  async #attempt(part: (parts: SchedulerParts) => Promise<void>): Promise<void> {
    try {
      await part(this.#parts);
    } catch (err) {
      this.#parts.kernel.log.error({ err }, `scheduler: ${part.name} failed`);
    }
  }
}
