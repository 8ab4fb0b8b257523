import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@svc/sdk';
import { isRunning } from '@svc/process-lock';
import type { PolicySource } from '../policy.ts';
import { describeFailure } from '../report.ts';
import type { ClaimedRun, Machine } from '../runs/context.ts';
import { execute } from '../runs/execute.ts';
import { type Journal, type JournalEntry, type RunOutcome, slotId } from '../runs/journal.ts';
import { isRefusal } from '../runs/lease.ts';
import { endedText } from '../text.ts';
import { type NativeCache, readCache } from './cache.ts';

/** A slot that was missed for longer is left to the gateway's rule for missed slots. */
const lateMs = 10 * 60_000;
const pollMs = 500;
const callMs = 10_000;

/** Runs a slot of a cached schedule on this machine, alone. */
interface SlotOptions {
  journal: Journal;
  machine: Machine;
  policy: PolicySource;
  log: (text: string) => void;
  signal: AbortSignal;
}

/**
 * Runs the latest due slot of a schedule unless it was begun before, or an earlier run of the schedule goes on. The
 * outcome stays in the journal until `sendOutcomes`. Answers what it did, for a person.
 */
export async function fireSlot(id: string, cache: NativeCache, options: SlotOptions): Promise<string> {
  const schedule = cache.schedules.find((one) => one.id === id);
  if (!schedule) return 'it is not a schedule of this machine';
  const now = Date.now();
  if (cache.paused && (cache.until === undefined || Date.parse(cache.until) > now)) return 'schedules are paused';
  const due = schedule.upcoming.filter((slot) => Date.parse(slot) <= now && Date.parse(slot) > now - lateMs).at(-1);
  if (due === undefined) return 'no slot is due';
  const { journal, machine, policy, log } = options;
  const going = (await journal.entries()).some(
    ({ record }) =>
      record.schedule_id === id && record.outcome === undefined && !record.run_id && isRunning(record.owner),
  );
  if (going) return 'its last run goes on';
  const native = { scheduled_for: due, started_at: new Date(now).toISOString() };
  const entry = await journal.begin(slotId(id, due), 1, id, { native });
  if (!entry) return 'the slot was run before';
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort('timeout'), (schedule.timeout_s ?? 3600) * 1000);
  const { kind, spec, command_hash, ignore } = schedule;
  const work = {
    id: entry.record.id,
    attempt: 1,
    schedule_id: id,
    kind: kind as ClaimedRun['kind'],
    spec,
    command_hash,
    ignore,
  };
  const execution = {
    machine,
    policy: await policy.current(),
    signal: AbortSignal.any([timer.signal, options.signal]),
    onStarted: (pid: number) => entry.started(pid),
    onTail: () => {},
  };
  const outcome = await execute(work, execution, log).finally(() => clearTimeout(timeout));
  await entry.finished(outcome);
  const { ok, error = 'unknown', ended_processes: processes } = outcome;
  return ok ? 'the slot was run' : `the slot failed: ${error}${endedText(processes)}`;
}

/** Tells the gateway what was run without it; what it refuses was run elsewhere, and is dropped. */
export async function sendOutcomes(client: Client, journal: Journal, log: (text: string) => void): Promise<void> {
  for (const entry of await journal.abandoned()) {
    const { native, outcome } = entry.record;
    if (native && !outcome) await entry.finished({ ok: false, error: 'it was interrupted' });
  }
  for (const entry of await journal.entries()) {
    const { record } = entry;
    if (!record.native || record.settled === true || !record.outcome) continue;
    try {
      await client.scheduler.reportNative({ body: nativeBody(entry) }, { signal: AbortSignal.timeout(callMs) });
    } catch (failure) {
      if (!isRefusal(failure)) return;
      log(`the outcome of a slot at ${record.native.scheduled_for} was refused: ${describeFailure(failure)}`);
    }
    await entry.settle();
  }
}

function nativeBody({ record: { schedule_id, native, outcome } }: JournalEntry) {
  const { cost_micro_usd: _, session_id: __, output_hash: ___, ...rest } = outcome ?? { ok: false };
  const at = native?.scheduled_for ?? '';
  return {
    schedule_id,
    scheduled_for: at,
    started_at: native?.started_at ?? at,
    finished_at: native?.finished_at ?? at,
    ...rest,
  };
}

/**
 * Keeps a claimed run and the machine's own run of the same slot apart: whichever wrote the slot down first runs it.
 * Answers the outcome of the machine's own run, waiting for its end; undefined when the claimed run is to go on.
 */
export async function outcomeOfSlot(
  run: ClaimedRun,
  journal: Journal,
  stateDir: string,
  signal: AbortSignal,
): Promise<RunOutcome | undefined> {
  const id = slotId(run.schedule_id, run.scheduled_for);
  const { schedules } = await readCache(stateDir);
  // A schedule that the machine does not run by itself needs no mark; it may have run this slot while it still did.
  if (schedules.some((schedule) => schedule.id === run.schedule_id)) {
    const marker = await journal.begin(id, 1, run.schedule_id, { run_id: run.id });
    await marker?.settle();
    if (marker) return undefined;
  }
  for (;;) {
    const record = (await journal.find(id, 1))?.record;
    if (!record?.native || signal.aborted) return undefined;
    if (record.outcome) return record.outcome;
    if (!isRunning(record.owner)) return { ok: false, error: 'it was interrupted' };
    await sleep(pollMs, undefined, { signal }).catch(() => {});
  }
}
