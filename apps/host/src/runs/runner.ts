import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { PolicySource } from '../policy.ts';
import { describeFailure } from '../report.ts';
import type { ClaimedRun, Machine } from './context.ts';
import { execute } from './execute.ts';
import type { Journal, JournalEntry, RunOutcome } from './journal.ts';
import { cancelled, createWake, deliver, keepLease, type RunTiming, silentReasons, type Wake } from './lease.ts';
import { LogSender } from './log.ts';
import { readReport, reportPath } from './report-file.ts';
import type { OutputTail } from './tail.ts';

/** Options of the runner. */
interface RunnerOptions {
  client: Client;
  journal: Journal;
  machine: Machine;
  policy: PolicySource;
  timing: RunTiming;
  log: (text: string) => void;
  /**
   * The outcome of a slot that this machine began to run while the gateway was out of reach, once it has ended;
   * undefined when it did not.
   */
  ranNatively: (run: ClaimedRun, signal: AbortSignal) => Promise<RunOutcome | undefined>;
}

/** Does claimed runs: keeps their leases, ends them, reports them. */
export interface Runner {
  /** Starts a run; returns at once. `since`: when its claim was sent (`performance.now()`). */
  start(run: ClaimedRun, since?: number): void;
  /** Asks the gateway at once whether the run is still to go on; without an id, about all. */
  look(id?: string): void;
  /** How many go on now. */
  running(): number;
  /** Resolves when the number of runs that go on falls. */
  freed(): Promise<void>;
  /** Resolves when nothing runs and nothing is left to report. */
  idle(): Promise<void>;
  /** Kills and reports what an earlier daemon left behind. */
  recover(): Promise<void>;
  /** Ends every run, reports it, and refuses new ones; resolves when all is reported, or `end` aborts. */
  stop(): Promise<void>;
}

/** The end of a log may take this long, then the result goes first. */
const flushMs = 2_000;

/** An attempt that goes on. */
interface Running {
  id: string;
  controller: AbortController;
  wake: Wake;
  since: number;
}

/** Makes the runner of a daemon; `end` ends every attempt to report. */
export function createRunner(options: RunnerOptions, end: AbortSignal): Runner {
  const running = new Map<string, Running>();
  const pending = new Set<Promise<void>>();
  let free = Promise.withResolvers<void>();
  let stopping = false;

  const keep = (work: Promise<void>) => {
    const kept = work
      .catch((error: unknown) => options.log(`a run broke: ${String(error)}`))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  };
  const go = async (run: ClaimedRun, own: Running) => {
    const settled = await attempt(run, own, options, end).finally(() => {
      running.delete(`${run.id}.${run.attempt}`);
      free.resolve();
      free = Promise.withResolvers<void>();
    });
    if (settled) await report(settled, options, end);
  };
  const idle = async () => {
    while (pending.size > 0) await Promise.allSettled(pending);
  };
  return {
    start(run, since = performance.now()) {
      const own = { id: run.id, controller: new AbortController(), wake: createWake(), since };
      running.set(`${run.id}.${run.attempt}`, own);
      if (stopping) own.controller.abort('the daemon was stopped');
      keep(go(run, own));
    },
    look(id) {
      for (const one of running.values()) if (id === undefined || one.id === id) one.wake.now();
    },
    running: () => running.size,
    freed: () => free.promise,
    idle,
    async recover() {
      for (const entry of await options.journal.abandoned()) {
        // A slot of the operating system's scheduler is told of in another way.
        if (entry.record.run_id !== undefined || entry.record.native) continue;
        if (entry.record.outcome === undefined) await entry.finished({ ok: false, error: 'the daemon was restarted' });
        keep(report(entry, options, end));
      }
    },
    async stop() {
      stopping = true;
      for (const { controller } of running.values()) controller.abort('the daemon was stopped');
      await idle();
    },
  };
}

/** Runs an attempt to its end; answers the entry with its outcome, or undefined when there is nothing to report. */
async function attempt(
  run: ClaimedRun,
  { controller, wake, since }: Running,
  options: RunnerOptions,
  end: AbortSignal,
): Promise<JournalEntry | undefined> {
  const { journal, machine, log, client, timing } = options;
  const entry = await journal.begin(run.id, run.attempt, run.schedule_id);
  if (!entry) {
    log(`run ${run.id} attempt ${run.attempt} was begun before: it is not started again`);
    return undefined;
  }
  let tail: OutputTail | undefined;
  const over = new AbortController();
  const sender = new LogSender({ client, run, timing, log, signal: end });
  const timer = setTimeout(() => controller.abort('timeout'), run.timeout_s * 1000);
  const lease = keepLease({
    client,
    timing,
    run,
    progress: async () => ({
      ...(tail && { log_tail: tail.text() }),
      ...(await costOf(run, machine)),
    }),
    controller,
    over: over.signal,
    since,
    wake,
  });
  const work = async () => {
    const native = await options.ranNatively(run, controller.signal);
    if (native) return native;
    const execution = {
      machine,
      policy: await options.policy.current(),
      signal: controller.signal,
      onStarted: (pid: number) => entry.started(pid),
      onTail(shown: OutputTail) {
        tail = shown;
        shown.follow((text) => sender.push(text));
      },
    };
    return execute(run, execution, log);
  };
  const outcome = await work();
  clearTimeout(timer);
  // While the lease is kept, and before the result: who follows the log reads its end before that of the run.
  await sender.end(flushMs);
  over.abort();
  await lease;
  return noteEnd(run, entry, { outcome, reason: String(controller.signal.reason) }, log);
}

/** Writes an outcome down; answers the entry, or undefined when there is nothing to report. */
async function noteEnd(
  run: ClaimedRun,
  entry: JournalEntry,
  { outcome, reason }: { outcome: RunOutcome; reason: string },
  log: (text: string) => void,
): Promise<JournalEntry | undefined> {
  // One that ended by itself at that moment is reported: the gateway decides what it counts.
  if (silentReasons.includes(reason) && outcome.error === reason) {
    log(`run ${run.id} attempt ${run.attempt} was ended: ${reason}`);
    await entry.close();
    return undefined;
  }
  if (outcome.not_started !== undefined) {
    log(`"${run.name}" was handed back: a person has to approve it here, svc host approve ${run.schedule_id}`);
  }
  // A full disk must not keep the gateway from knowing how it ended.
  await entry.finished(outcome).catch((error: unknown) => log(`run ${run.id}: not written down: ${String(error)}`));
  return entry;
}

async function costOf(run: ClaimedRun, machine: Machine): Promise<{ cost_micro_usd?: number }> {
  const { cost_micro_usd } = await readReport(reportPath(machine.reportDirectory, run.id, run.attempt));
  return cost_micro_usd === undefined ? {} : { cost_micro_usd };
}

/** Reports an outcome until the gateway took or refused it; it stays in the journal when `end` aborts before. */
async function report(entry: JournalEntry, { client, timing, log }: RunnerOptions, end: AbortSignal): Promise<void> {
  const { id, attempt, outcome } = entry.record;
  if (!outcome) return;
  const backoff = createBackoff(...timing.retryMs);
  for (let told = false; !end.aborted; told = true) {
    const call = AbortSignal.any([end, AbortSignal.timeout(timing.callMs)]);
    const { delivery, failure } = await deliver(client, { id, attempt }, outcome, call);
    // A gateway of the version before does not ask for it.
    if (delivery === 'refused' && outcome.error !== cancelled)
      log(`the result of run ${id} attempt ${attempt} was refused: ${describeFailure(failure)}`);
    if (delivery !== 'later') return entry.close();
    if (!told && !end.aborted) log(`the result of run ${id} was not taken: ${describeFailure(failure)}; trying again`);
    await sleep(backoff.next(), undefined, { signal: end }).catch(() => {});
  }
}
