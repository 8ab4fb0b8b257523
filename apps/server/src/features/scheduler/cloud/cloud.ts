import { agentSpec, kinds, shellSpec } from '@svc/contract';
import { HttpTaskError, parseSpec } from '@svc/http-task';
import { faultText } from '@svc/netguard/faults';
import type { z } from 'zod';
import { inTransaction } from '../../../kernel/db/db.ts';
import { BrokenSeal } from '../../../kernel/base/crypto.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import { plus, readNow } from '../../../kernel/db/instant.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import { type GiveBack, Share } from '../../../kernel/share/share.ts';
import type { Actor } from '../../../kernel/base/actor.ts';
import type { Agent } from '../../agent/index.ts';
import type { Sandboxes } from '../../sandboxes/index.ts';
import type { Rights } from '../../schedules/index.ts';
import type { SchedulerParts } from '../scheduler.admit.ts';
import { claimForCloud, findSuspended, renewLease } from '../claims/claims.sql.ts';
import { appendLog } from '../logs/store.ts';
import { openRunSpec } from '../work/headers.ts';
import { endedProcess, moveRun } from '../outcomes/settle.ts';
import type { RunRow } from '../scheduler.sql.ts';
import { leaseMs, type Result } from '../scheduler.effects.ts';
import { move } from '../scheduler.moves.ts';
import { outputHashOf, tailOf } from './output.ts';
import { callWebhook } from './webhook.ts';

/** Runs at a time; webhooks wait neither for sandboxes nor for models. What else there is fails at once, among them. */
const places = { total: 16, ofOne: 4 };
/** Shell runs that this gateway holds, those that wait for a sandbox among them. */
const shells = { total: 64, ofOne: 4 };
/** Agents that this gateway holds: they mostly wait for models. */
const agents = { total: 64, ofOne: 4 };
const quick = kinds.filter((kind) => kind !== 'shell' && kind !== 'agent' && kind !== 'chain');
const renewEveryMs = 20_000;
const drainMs = 3_000;
/** Of a command in a sandbox (document 3, Limits). */
const mostShellSeconds = 900;
const passing = new Set<string>(['sandbox_concurrency_limit', 'sandbox_capacity']);
const roomEveryMs = 2_000;
/** Nothing of an account outlives its standing by 10 s. */
const standingEveryMs = 3_000;

/** A result with all that the run wrote. */
type Outcome = Result & { log?: Buffer };
/** It is not this gateway's any more, and what it cost here. */
interface Ended {
  ended: true;
  costMicroUsd?: number;
}
const over: Ended = { ended: true };

/** The features that carry out runs. */
export interface CloudBackends {
  sandboxes: Sandboxes;
  agent: Pick<Agent, 'runTask'>;
  rights: Rights;
}

/** A run that this gateway holds. */
interface Running {
  accountId: string;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Runs what has the target `cloud`, in any gateway: webhooks here, shell commands in one-shot sandboxes, agents with a
 * model and a sandbox; what needs a backend that is not there fails at once.
 */
export class CloudRunner {
  readonly #parts: SchedulerParts;
  readonly #sandboxes: Sandboxes;
  readonly #agent: CloudBackends['agent'];
  readonly #rights: Rights;
  readonly #running = new Map<string, Running>();
  readonly #webhooks = new Share(places);
  readonly #shells = new Share(shells);
  readonly #agents = new Share(agents);
  /** Of the shell runs, those whose command is tried or runs. */
  readonly #commands = new Share(places);
  readonly #loop: Loop;
  readonly #watching: Loop;

  constructor(parts: SchedulerParts, { sandboxes, agent, rights }: CloudBackends) {
    this.#parts = parts;
    this.#sandboxes = sandboxes;
    this.#agent = agent;
    this.#rights = rights;
    this.#loop = startLoop(parts.kernel, { name: 'scheduler.cloud', work: () => this.#take() });
    const everyMs = standingEveryMs;
    // A run that was cancelled, or is over, ends at once; where the message is lost, with its next renewal.
    parts.changes.onOver((id) => this.#running.get(id)?.abort.abort());
    this.#watching = startLoop(parts.kernel, { name: 'scheduler.standing', everyMs, work: () => this.#endSuspended() });
  }

  /** Takes what waits. */
  look(): void {
    this.#loop.wake();
  }

  /** Lets runs end for a moment, then hands the rest back to the other gateways. */
  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.kernel.clock.after(drainMs, resolve);
    const isTaking = Promise.all([this.#loop.stop(), this.#watching.stop()]);
    const allDone = () => Promise.all([...this.#running.values()].map((run) => run.done));
    await Promise.race([promise, isTaking.then(allDone)]);
    cancel();
    await isTaking;
    for (const run of this.#running.values()) run.abort.abort();
    await allDone();
  }

  async #take(): Promise<void> {
    await this.#takeKinds(quick, this.#webhooks);
    // They would fail here for want of a sandbox.
    if (this.#sandboxes.nodes.areElsewhere?.hasWorker) return;
    await this.#takeKinds(['shell'], this.#shells);
    await this.#takeKinds(['agent'], this.#agents);
  }

  /** Runs of an account that may not go on are handed back, and wait until it may. */
  async #endSuspended(): Promise<void> {
    if (this.#running.size === 0) return;
    const accountIds = [...new Set([...this.#running.values()].map(({ accountId }) => accountId))];
    const suspended = new Set(await findSuspended(this.#parts.kernel.sql, accountIds));
    for (const { accountId, abort } of this.#running.values()) if (suspended.has(accountId)) abort.abort();
  }

  async #takeKinds(which: string[], shared: Share): Promise<void> {
    const deal = shared.open();
    if (deal.total <= 0) return;
    const { sql, clock, feed, gateways } = this.#parts.kernel;
    const now = await readNow(sql, clock);
    const leaseUntil = plus(now, leaseMs).iso;
    const runs = await claimForCloud(sql, which, deal, { holderId: gateways.id, now: now.iso, leaseUntil });
    await feed.recorded(
      sql,
      runs.map((run) => run.account_id),
    );
    for (const run of runs) this.#begin(run, shared.take(run.account_id));
  }

  #begin(run: RunRow, giveBack: GiveBack | undefined): void {
    const abort = new AbortController();
    const done = this.#run(run, abort)
      .catch((err: unknown) => this.#parts.kernel.log.error({ err, run: run.id }, 'a run of the cloud broke'))
      .finally(() => {
        this.#running.delete(run.id);
        giveBack?.();
        this.#loop.wake();
      });
    this.#running.set(run.id, { accountId: run.account_id, abort, done });
  }

  async #run(run: RunRow, abort: AbortController): Promise<void> {
    const { clock } = this.#parts.kernel;
    const stopRenewing = clock.every(renewEveryMs, () => void this.#renew(run, abort));
    try {
      const result = await this.#execute(run, abort.signal);
      const output = 'log' in result ? result.log : undefined;
      if (output) await this.#keepLog(run, output);
      // The output of a failure is compared with nothing.
      const isCompared = 'ok' in result && result.ok;
      const outputHash = isCompared && output ? await outputHashOf(this.#parts.kernel, run, output) : undefined;
      stopRenewing();
      await this.#report(run, result, outputHash);
    } finally {
      // If this throws, nothing is reported: another gateway takes the run when its lease ends.
      stopRenewing();
    }
  }

  async #execute(run: RunRow, signal: AbortSignal): Promise<Outcome | Ended> {
    try {
      // As the key is now: since it asked, it may have lost rights, or ended.
      const actor = await this.#rights.find(run, { kind: run.kind, inCloud: true });
      const spec = await openRunSpec(this.#parts.kernel, run);
      if (!spec) return over;
      if (run.kind === 'shell') return await this.#shell(run, shellSpec.parse(spec), actor, signal);
      if (run.kind === 'agent') return await this.#runAgent(run, agentSpec.parse(spec), actor, signal);
      if (run.kind === 'http') return await this.#webhook(run, spec, signal);
      const error = `this installation has nothing that runs ${run.kind} in the cloud; choose a host as the target`;
      return { ok: false, error };
    } catch (error) {
      // A gateway that has lost touch with its database must not say how a run went.
      const isUnproven = error instanceof ApiError && error.code === 'unavailable';
      return signal.aborted || isUnproven ? over : { ok: false, error: reasonOf(error).slice(0, 1_000) };
    }
  }

  async #webhook(run: RunRow, spec: unknown, signal: AbortSignal): Promise<Outcome> {
    const { text, ...result } = await callWebhook(this.#parts.kernel, parseSpec(spec), run.timeout_s * 1000, signal);
    const log = Buffer.from(text);
    return { ...result, logTail: tailOf(log), log };
  }

  async #runAgent(
    run: RunRow,
    spec: z.output<typeof agentSpec>,
    actor: Actor,
    signal: AbortSignal,
  ): Promise<Outcome | Ended> {
    const task = { actor, id: run.id, spec, seconds: run.timeout_s };
    const { ok, error, log, costMicroUsd } = await this.#agent.runTask(task, signal);
    if (signal.aborted) return { ...over, costMicroUsd };
    const bytes = Buffer.from(log);
    return {
      ok,
      ...(error !== undefined && { error: error.slice(0, 1_000) }),
      costMicroUsd,
      logTail: tailOf(bytes),
      log: bytes,
    };
  }

  async #shell(run: RunRow, spec: z.output<typeof shellSpec>, actor: Actor, signal: AbortSignal): Promise<Outcome> {
    const { command, cwd, shell } = spec;
    const what = {
      ...(shell === undefined ? { shell: command } : { cmd: [shell, '-c', command] }),
      ...(cwd !== undefined && { cwd }),
      timeoutSeconds: Math.min(run.timeout_s, mostShellSeconds),
    };
    const done = await this.#whenThereIsRoom(run, signal, () => this.#sandboxes.runShell(actor, what, signal));
    const { exit_code: exitCode, stdout, stderr } = done;
    const ok = exitCode === 0;
    const late =
      run.timeout_s > mostShellSeconds ? `timeout: ${mostShellSeconds} s are the most in the cloud` : 'timeout';
    const error = done.timed_out ? late : exitCode === null ? stderr.slice(0, 1_000) : `exit code ${exitCode}`;
    const log = Buffer.from(stdout + stderr);
    const logTail = tailOf(log);
    return { ok, ...(!ok && { error }), ...(exitCode !== null && { exitCode }), logTail, log };
  }

  /** Caps and full nodes are passing: the run waits for its turn as long as its time lasts, and has no place meanwhile. */
  async #whenThereIsRoom<T>(run: RunRow, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts.kernel;
    const until = clock.monotonic() + run.timeout_s * 1000;
    for (;;) {
      const giveBack = this.#commands.take(run.account_id);
      try {
        if (giveBack) return await work();
        if (clock.monotonic() > until) throw new ApiError('sandbox_capacity', 'no sandbox was free in its time');
      } catch (error) {
        const { nodes } = this.#sandboxes;
        const hasNodes = nodes.all().length > 0 && !nodes.areElsewhere;
        const isPassing = hasNodes && error instanceof ApiError && passing.has(error.code);
        if (!isPassing || clock.monotonic() > until) throw error;
      } finally {
        giveBack?.();
      }
      await new Promise<void>((resolve) => {
        clock.after(roomEveryMs, resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      signal.throwIfAborted();
    }
  }

  async #renew(run: RunRow, abort: AbortController): Promise<void> {
    const { sql, clock, gateways, log } = this.#parts.kernel;
    try {
      const now = await readNow(sql, clock);
      const held = { id: run.id, attempt: run.attempt, holderId: gateways.id };
      const times = { now: now.iso, leaseUntil: plus(now, leaseMs).iso };
      const still = await renewLease(sql, held, { ...times, logTail: undefined, costMicroUsd: undefined });
      if (!still) abort.abort();
    } catch (err) {
      log.warn({ err, run: run.id }, 'a lease was not renewed');
    }
  }

  /** The whole output; a run does not fail because its log has no room. */
  async #keepLog(run: RunRow, output: Buffer): Promise<void> {
    const { kernel } = this.#parts;
    const text = Buffer.from(output.toString('utf8'));
    await appendLog(kernel, run, 0, text).catch((err: unknown) => {
      if (!(err instanceof ApiError)) kernel.log.warn({ err, run: run.id }, 'a log was not kept');
    });
  }

  async #report(claimed: RunRow, result: Outcome | Ended, outputHash: string | undefined): Promise<void> {
    const { sql, gateways } = this.#parts.kernel;
    const moved = await inTransaction(sql, async (db) => {
      const by = { pool: 'cloud', attempt: claimed.attempt, holderId: gateways.id } as const;
      const step =
        'ended' in result
          ? move('handBack', { by, costMicroUsd: result.costMicroUsd })
          : move('report', { ...result, by });
      return moveRun(this.#parts, db, claimed, step, outputHash);
    });
    if (moved) return;
    await endedProcess(this.#parts, { id: claimed.id, attempt: claimed.attempt, holderId: gateways.id });
  }
}

/** Why a run could not be done: words of ours, and none of the runtime's. */
function reasonOf(error: unknown): string {
  const isOurs = error instanceof ApiError || error instanceof HttpTaskError || error instanceof BrokenSeal;
  return isOurs ? error.message : faultText(error);
}
