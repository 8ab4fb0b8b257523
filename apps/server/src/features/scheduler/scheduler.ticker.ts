import { type Db, inTransaction } from '../../kernel/db.ts';
import {
  type Advance,
  advanceSchedules,
  deletePause,
  lockDue,
  lockEndedPauses,
  lockSchedule,
  planTick,
  probeSchedules,
  readNow,
  type ScheduleRow,
  takeMissed,
} from '../schedules/index.ts';
import { admit, type Candidate, cancelActive, type Parts, publishRuns } from './scheduler.admit.ts';
import { tellLate } from './scheduler.alerts.ts';
import { nextChainMove, onResult, onTime } from './scheduler.rules.ts';
import { moveRun } from './scheduler.settle.ts';
import {
  changeRun,
  listIdleChains,
  listOrphanedSteps,
  listOverdue,
  listSteps,
  lockRun,
  probeRuns,
  type RunRow,
  takeLate,
  timeoutGraceSeconds,
} from './scheduler.sql.ts';

/** Schedules a transaction takes: 10,000 that are due at once are shared by all gateways in pieces of this size. */
const batch = 500;
const longestSleepMs = 1_000;
const soonMs = 20;
const iso = (ms: number): string => new Date(ms).toISOString();

/** Turns up to `batch` due schedules into runs. Answers how many schedules moved. */
export async function tickSchedules(parts: Parts, accountId?: string): Promise<number> {
  const { sql, clock } = parts.kernel;
  return inTransaction(sql, async (db) => {
    const now = await readNow(db, clock);
    const due = await lockDue(db, iso(now), batch, accountId);
    const candidates: Candidate[] = [];
    const advances: Advance[] = [];
    for (const schedule of due) {
      const plan = planTick(schedule, now);
      for (const { at, origin } of plan.due) candidates.push({ schedule, scheduledFor: at, origin });
      advances.push({
        id: schedule.id,
        past: schedule.past.length,
        slots: plan.slots,
        last_run_at: plan.due.length > 0 ? iso(now) : null,
        missed_slot: plan.missed ?? null,
      });
    }
    if (due.length > 0) await advanceSchedules(db, advances);
    if (candidates.length > 0) await admit(parts, db, candidates, now);
    return due.length;
  });
}

/** Ends a pause; with backfill, each schedule that missed slots gets one run for the last of them. Answers how many. */
export async function endPause(
  parts: Parts,
  db: Db,
  accountId: string,
  backfill: boolean,
  now: number,
): Promise<number> {
  await deletePause(db, accountId);
  const missed = await takeMissed(db, accountId);
  const candidates = missed.map(
    (schedule): Candidate => ({ schedule, scheduledFor: schedule.missed_slot as string, origin: 'catch_up' }),
  );
  await parts.changes.publish(db, accountId, [{ op: 'resumed', state: 'active' }], true);
  if (!backfill || candidates.length === 0) return 0;
  return (await admit(parts, db, candidates, now)).length;
}

/** Ends the pauses that have run out. */
export async function tickPauses(parts: Parts): Promise<void> {
  const { sql, clock } = parts.kernel;
  await inTransaction(sql, async (db) => {
    const now = await readNow(db, clock);
    for (const pause of await lockEndedPauses(db, iso(now))) {
      await endPause(parts, db, pause.account_id, pause.resume_policy === 'backfill', now);
    }
  });
}

/** Ends leases, attempts and waits whose time is over, and says which runs nobody started. */
export async function tickRuns(parts: Parts): Promise<void> {
  const { kernel } = parts;
  const { sql, clock } = kernel;
  for (const overdue of await listOverdue(sql, iso(await readNow(sql, clock)), batch)) {
    await inTransaction(sql, async (db) => {
      const now = await readNow(db, clock);
      await moveRun(parts, db, overdue, now, (run) => onTime(run, now, timeoutGraceSeconds * 1000));
    });
  }
  await inTransaction(sql, async (db) => {
    const now = iso(await readNow(db, clock));
    for (const run of await takeLate(db, now, batch)) await tellLate(kernel, db, run);
  });
}

/** Moves chains on: creates the next step, or ends the chain. Each move is a transaction of its own. */
export async function tickChains(parts: Parts): Promise<void> {
  const { sql, clock } = parts.kernel;
  for (const { id, schedule_id: scheduleId } of await listIdleChains(sql, iso(await readNow(sql, clock)), batch)) {
    await inTransaction(sql, async (db) => advanceChain(parts, db, id, scheduleId, await readNow(db, clock)));
  }
  for (const step of await listOrphanedSteps(sql, batch)) {
    await inTransaction(sql, async (db) => {
      const now = await readNow(db, clock);
      await lockSchedule(db, step.schedule_id);
      await cancelActive(parts, db, step.schedule_id, now, 'its chain is over', step.id);
    });
  }
}

async function advanceChain(parts: Parts, db: Db, id: string, scheduleId: string, now: number): Promise<void> {
  // Locks go from what starts to what is started, as everywhere: the chain's schedule, then the step's.
  await lockSchedule(db, scheduleId);
  const found = await lockRun(db, id);
  const isNew = found?.state === 'pending';
  if (!isNew && found?.state !== 'running') return;
  const chain = isNew ? await changeRun(db, id, { state: 'running', started_at: iso(now), error: null }) : found;
  if (isNew) await publishRuns(parts, db, [chain]);
  const steps = await listSteps(db, id, chain.started_at as string);
  const move = nextChainMove(chain.spec as never, steps);
  if (move.do === 'wait') return;
  if (move.do === 'step') {
    const schedule = await lockSchedule(db, move.scheduleId);
    const own = schedule?.account_id === chain.account_id ? schedule : undefined;
    const error = own ? await startStep(parts, db, chain, own, move.index, now) : 'its schedule is gone';
    if (error === undefined) return;
    await finishChain(parts, db, chain, now, `step ${move.index + 1}: ${error}`);
    return;
  }
  await finishChain(parts, db, chain, now, move.error);
}

/** Answers why the step could not be created; undefined: it was. */
async function startStep(
  parts: Parts,
  db: Db,
  chain: RunRow,
  schedule: ScheduleRow,
  step: number,
  now: number,
): Promise<string | undefined> {
  const candidate: Candidate = { schedule, scheduledFor: iso(now), origin: 'chain', parent: { runId: chain.id, step } };
  const runs = await admit(parts, db, [candidate], now);
  return runs.length === 0 ? 'a limit of its schedule forbids it' : undefined;
}

async function finishChain(parts: Parts, db: Db, chain: RunRow, now: number, error: string | undefined) {
  await moveRun(parts, db, chain, now, (run) => onResult(run, { ok: error === undefined, error }, now));
}

/** Runs every tick of this gateway, at the instant the next schedule is due and at least once a second. */
export class Ticker {
  readonly #parts: Parts;
  readonly #onCloud: () => void;
  #stopped = false;
  #running = false;
  #again = false;
  #cancel = (): void => {};
  #idle: Promise<void> = Promise.resolve();

  /** `onCloud` is called when there are runs for the cloud. */
  constructor(parts: Parts, onCloud: () => void) {
    this.#parts = parts;
    this.#onCloud = onCloud;
    parts.changes.onWake(() => this.#wake());
  }

  start(): void {
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#idle;
  }

  #wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (this.#running) return;
    this.#running = true;
    this.#idle = this.#loop();
  }

  async #loop(): Promise<void> {
    const { kernel } = this.#parts;
    this.#cancel();
    let sleepMs = longestSleepMs;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        sleepMs = await this.#tick();
      }
    } catch (err) {
      kernel.log.error({ err }, 'scheduler tick failed');
    }
    this.#running = false;
    if (!this.#stopped) this.#cancel = kernel.clock.after(sleepMs, () => this.#wake());
  }

  async #drain(): Promise<void> {
    while (!this.#stopped && (await tickSchedules(this.#parts)) === batch);
  }

  /** Answers in how many milliseconds the next tick is due. */
  async #tick(): Promise<number> {
    const { sql, clock } = this.#parts.kernel;
    const { ms, pauses } = await probeSchedules(sql, clock);
    const isDue = ms !== null && ms <= 0;
    // Two at a time: one computes while the database works for the other.
    if (isDue && (await tickSchedules(this.#parts)) === batch) await Promise.all([this.#drain(), this.#drain()]);
    if (pauses) await tickPauses(this.#parts);
    const runs = await probeRuns(sql, clock);
    if (runs.overdue || runs.late) await tickRuns(this.#parts);
    if (runs.chains) await tickChains(this.#parts);
    if (runs.cloud) this.#onCloud();
    // A schedule that is due and not taken is another gateway's at this moment: no need to run in circles for it.
    return isDue ? soonMs : Math.min(longestSleepMs, Math.max(ms ?? longestSleepMs, soonMs));
  }
}
