import { httpSpec, kinds, shellSpec } from '@svc/contract';
import { inTransaction } from '../../kernel/db/db.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { readNow } from '../../kernel/db/instant.ts';
import { type Loop, startLoop } from '../../kernel/loop.ts';
import { type GiveBack, Places } from '../../kernel/places.ts';
import type { Sandboxes } from '../sandboxes/index.ts';
import { type SchedulerParts, publishRuns } from './scheduler.admit.ts';
import { claimForCloud, findSuspended, renewLease } from './scheduler.claims.sql.ts';
import { openRunSpec } from './scheduler.headers.ts';
import { moveRun } from './scheduler.settle.ts';
import type { RunRow } from './scheduler.sql.ts';
import { leaseMs, type Result } from './scheduler.effects.ts';
import { move } from './scheduler.states.ts';

/** Runs at a time; webhooks never wait for sandboxes. What else there is fails at once, among the webhooks. */
const places = { total: 16, mostOfOne: 4 };
/** Shell runs that this gateway holds, those that wait for a sandbox among them. */
const shells = { total: 64, mostOfOne: 4 };
const besidesShells = kinds.filter((kind) => kind !== 'shell' && kind !== 'chain');
const renewEveryMs = 20_000;
const keptBytes = 65_536;
const drainMs = 3_000;
/** Of a command in a sandbox (document 3, Limits). */
const mostShellSeconds = 900;
const passing = new Set<string>(['sandbox_concurrency_limit', 'sandbox_capacity']);
const roomEveryMs = 2_000;
/** Nothing of an account outlives its standing by 10 s. */
const standingEveryMs = 3_000;

/** A run that this gateway holds. */
interface Running {
  accountId: string;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Runs what has the target `cloud`, in any gateway: webhooks here, shell commands in one-shot sandboxes; what needs a
 * backend that is not there fails at once.
 */
export class CloudRunner {
  readonly #parts: SchedulerParts;
  readonly #sandboxes: Sandboxes;
  readonly #running = new Map<string, Running>();
  readonly #webhooks = new Places(places);
  readonly #shells = new Places(shells);
  /** Of the shell runs, those whose command is tried or runs. */
  readonly #commands = new Places(places);
  readonly #loop: Loop;
  readonly #watching: Loop;

  constructor(parts: SchedulerParts, sandboxes: Sandboxes) {
    this.#parts = parts;
    this.#sandboxes = sandboxes;
    this.#loop = startLoop(parts.kernel, { name: 'scheduler.cloud', work: () => this.#take() });
    const everyMs = standingEveryMs;
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
    await this.#takeKinds(besidesShells, this.#webhooks);
    await this.#takeKinds(['shell'], this.#shells);
  }

  /** Runs of an account that may not go on are handed back, and wait until it may. */
  async #endSuspended(): Promise<void> {
    if (this.#running.size === 0) return;
    const accountIds = [...new Set([...this.#running.values()].map(({ accountId }) => accountId))];
    const suspended = new Set(await findSuspended(this.#parts.kernel.sql, accountIds));
    for (const { accountId, abort } of this.#running.values()) if (suspended.has(accountId)) abort.abort();
  }

  async #takeKinds(which: string[], shared: Places): Promise<void> {
    const deal = shared.open();
    if (deal.total <= 0) return;
    const { sql, clock, gateways } = this.#parts.kernel;
    const { ms, iso } = await readNow(sql, clock);
    const leaseUntil = new Date(ms + leaseMs).toISOString();
    const runs = await claimForCloud(sql, which, deal, { holderId: gateways.id, now: iso, leaseUntil });
    await publishRuns(this.#parts, sql, runs);
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
    const result = await this.#execute(run, abort.signal);
    stopRenewing();
    await this.#report(run, result);
  }

  /** Undefined: it was aborted, and is not this gateway's any more. */
  async #execute(run: RunRow, signal: AbortSignal): Promise<Result | undefined> {
    if (run.kind === 'shell') return this.#shell(run, signal);
    if (run.kind !== 'http') {
      const error = `this installation has nothing that runs ${run.kind} in the cloud; choose a host as the target`;
      return { ok: false, error };
    }
    try {
      const spec = httpSpec.parse(await openRunSpec(this.#parts.kernel, run));
      const answer = await this.#parts.kernel.outbound.request(spec.url, {
        method: spec.method,
        protocols: ['https:'],
        headers: spec.headers ?? {},
        ...(spec.body !== undefined && { body: spec.body }),
        timeoutMs: run.timeout_s * 1000,
        headersTimeoutMs: run.timeout_s * 1000,
        maxBytes: 1_048_576,
        redirects: 5,
        signal,
      });
      const { expect_status: expected } = spec;
      const ok = expected === undefined ? answer.status >= 200 && answer.status < 300 : answer.status === expected;
      const error = ok ? undefined : `answered ${answer.status}, expected ${expected ?? '2xx'}`;
      return { ok, error, logTail: textOf(answer.body) };
    } catch (error) {
      return signal.aborted ? undefined : { ok: false, error: (error as Error).message.slice(0, 1_000) };
    }
  }

  async #shell(run: RunRow, signal: AbortSignal): Promise<Result | undefined> {
    const { command, cwd, shell } = shellSpec.parse(run.spec);
    const what = {
      ...(shell === undefined ? { shell: command } : { cmd: [shell, '-c', command] }),
      ...(cwd !== undefined && { cwd }),
      timeoutSeconds: Math.min(run.timeout_s, mostShellSeconds),
    };
    try {
      const done = await this.#whenThereIsRoom(run, signal, () =>
        this.#sandboxes.runShell(run.account_id, what, signal),
      );
      const { exit_code: exitCode, stdout, stderr } = done;
      const ok = exitCode === 0;
      const late =
        run.timeout_s > mostShellSeconds ? `timeout: ${mostShellSeconds} s are the most in the cloud` : 'timeout';
      const error = done.timed_out ? late : exitCode === null ? stderr.slice(0, 1_000) : `exit code ${exitCode}`;
      const logTail = textOf(Buffer.from(stdout + stderr));
      return { ok, ...(!ok && { error }), ...(exitCode !== null && { exitCode }), logTail };
    } catch (error) {
      return signal.aborted ? undefined : { ok: false, error: (error as Error).message.slice(0, 1_000) };
    }
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
        const hasNodes = this.#sandboxes.nodes.all().length > 0;
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
      const { ms: now } = await readNow(sql, clock);
      const held = { id: run.id, attempt: run.attempt, holderId: gateways.id };
      const times = { now: new Date(now).toISOString(), leaseUntil: new Date(now + leaseMs).toISOString() };
      const still = await renewLease(sql, held, { ...times, logTail: undefined, costMicroUsd: undefined });
      if (!still) abort.abort();
    } catch (err) {
      log.warn({ err, run: run.id }, 'a lease was not renewed');
    }
  }

  async #report(claimed: RunRow, result: Result | undefined): Promise<void> {
    const { sql, clock, gateways } = this.#parts.kernel;
    await inTransaction(sql, async (db) => {
      const { ms: now } = await readNow(db, clock);
      const by = { pool: 'cloud', attempt: claimed.attempt, holderId: gateways.id } as const;
      const step = result ? move('report', { ...result, by }) : move('handBack', { by });
      await moveRun(this.#parts, db, claimed, now, step);
    });
  }
}

/** The end of a response as text that the database can hold. */
function textOf(body: Buffer): string {
  return body.subarray(-keptBytes).toString('utf8').replaceAll('\u0000', '').toWellFormed();
}
