import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRunning, type ProcessId } from '@svc/process-lock';
import { type Client, SvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import { admit, type Admitted, type ExecFrame, failureOf, type OperationOptions, perform } from '../executor.ts';
import { OpError } from '../failure.ts';
import { endGroup } from '../groups.ts';
import { checkArgs } from '../ops/op.ts';
import { shellCommand } from '../ops/shell.ts';
import { killLeft, type Records, syncPath } from '../records.ts';
import { describeFailure, type OpOutcome } from '../report.ts';
import { isRefusal, type RunTiming } from '../runs/lease.ts';
import { Sender } from '../sender.ts';
import { type ExecEntry, type ExecRecord, execVariable } from './journal.ts';
import { cancelled, cutOf, isOfThisBoot, journalError, outcomeOf } from './outcome.ts';
import { countCommands, type ExecFiles, filesOf, readEnd, readOutput, removeFiles, startDetached } from './process.ts';

/** Options of the runner of commands that nobody waits for. */
export interface ExecsOptions extends OperationOptions {
  client: Client;
  journal: Records<ExecRecord>;
  /** The journal's. */
  directory: string;
  timing: Pick<RunTiming, 'retryMs' | 'callMs'>;
  /** Ends every attempt to ask and to report; what runs goes on. */
  signal: AbortSignal;
}

/** A command has a day, unless it asks for less. */
const mostTimeMs = 86_400_000;
/** A person may be asked for as long as a command can wait. */
const mostPatienceMs = 7 * 86_400_000;
/** Output is looked at this often; with the process, where another daemon started it. */
const lookMs = 100;
const lookForeignMs = 500;
/** A piece of output may take this long on a slow line. */
const pieceMs = 60_000;
const mostError = 2000;

/** A command that this daemon works on. */
interface Own {
  controller: AbortController;
  entry: ExecEntry | undefined;
  work: Promise<void>;
}

/**
 * Does commands by itself: each is written down with a token, the gateway is asked, and only then it starts. A process outlives
 * the daemon, and the next one goes on where this one was.
 */
export class ExecRunner {
  readonly #options: ExecsOptions;
  readonly #own = new Map<string, Own>();
  /** Commands start in the order in which they came. */
  #turn: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(options: ExecsOptions) {
    this.#options = options;
  }

  /** Goes on with what an earlier daemon wrote down. */
  async recover(): Promise<void> {
    const entries = await this.#options.journal.entries();
    for (const entry of entries.toSorted((a, b) => a.record.came_at - b.record.came_at)) {
      this.#work(entry.record.id, entry, (own) => this.#goOn(own, entry));
    }
  }

  /** Takes a frame; one that is here already is passed over. Never throws. */
  take(frame: ExecFrame): void {
    const { req_id: id } = frame;
    if (this.#isStopped || this.#own.has(id)) return;
    this.#work(id, undefined, (own) => this.#begin(own, frame));
  }

  /** Ends a command, whichever daemon started it. */
  cancel(id: string): void {
    this.#own.get(id)?.controller.abort(cancelled);
  }

  /** The gateway refuses this machine, as its account is suspended: what runs ends. */
  refuse(): void {
    for (const id of this.#own.keys()) this.cancel(id);
  }

  /** Takes no more, and ends what is no process; resolves when that is reported. Processes go on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { controller, entry } of this.#own.values()) {
      if (!entry?.record.process) controller.abort('host_stopped');
    }
    const ending = [...this.#own.values()].filter(({ entry }) => !entry?.record.process);
    await Promise.allSettled(ending.map(({ work }) => work));
  }

  #work(id: string, entry: ExecEntry | undefined, work: (own: Own) => Promise<void>): void {
    const own: Own = { controller: new AbortController(), entry, work: Promise.resolve() };
    this.#own.set(id, own);
    own.work = work(own)
      .catch((error: unknown) => this.#options.log(`the command ${id} broke: ${String(error)}`))
      .finally(() => this.#own.delete(id));
  }

  async #begin(own: Own, frame: ExecFrame): Promise<void> {
    const { journal } = this.#options;
    const came_at = performance.timeOrigin + performance.now();
    const record = { id: frame.req_id, came_at, token: randomUUID(), frame };
    // One after the other, so that they are asked for in their order.
    const written = this.#inTurn(() => journal.begin(record));
    let entry: ExecEntry | undefined;
    try {
      entry = await written;
    } catch (error) {
      // What is not written down is not started.
      await this.#report(frame.req_id, { ok: false, error: journalError(error) });
      return;
    }
    if (!entry) return;
    own.entry = entry;
    await this.#goOn(own, entry);
  }

  /** Does what is left to do of a command. */
  async #goOn(own: Own, entry: ExecEntry): Promise<void> {
    const { process, began, outcome } = entry.record;
    if (process) return this.#watch(own, entry, process);
    if (outcome) return this.#settle(entry, outcome);
    if (began) return this.#settle(entry, { ok: false, error: 'host_restarted', unknown: true });
    const { signal } = own.controller;
    let admitted: Admitted;
    try {
      admitted = await this.#admit(entry, signal);
    } catch (error) {
      // The next daemon asks again; one that was cancelled is over at the gateway.
      if (this.#isStopped) return;
      if (signal.aborted) return this.#close(entry);
      return this.#settle(entry, failureOf(error, entry.record.frame, this.#options, signal));
    }
    if (admitted.op !== 'shell') return this.#operate(own, entry, admitted);
    const started = await this.#inTurn(() => this.#startShell(entry, admitted, signal));
    if (started === 'forgotten') return this.#close(entry);
    if (started === 'stopped') return;
    if ('ok' in started) return this.#settle(entry, started);
    return this.#watch(own, entry, started.leader, started.gone);
  }

  #admit(entry: ExecEntry, signal: AbortSignal): Promise<Admitted> {
    const { frame } = entry.record;
    // Clocks differ: the gateway has the last word when it is asked.
    const patienceMs = Math.min(Math.max(frame.deadline - Date.now(), 60_000), mostPatienceMs);
    return admit(frame, this.#options, { signal, patienceMs });
  }

  /** Asks the gateway until it answers: whether the command may start here, now or never. */
  async #mayStart({ record: { id, token } }: ExecEntry, signal: AbortSignal): Promise<'yes' | 'no' | 'stopped'> {
    const { client, timing, signal: end, log } = this.#options;
    const backoff = createBackoff(...timing.retryMs);
    while (!end.aborted && !this.#isStopped) {
      if (signal.aborted) return 'no';
      try {
        const call = AbortSignal.any([end, AbortSignal.timeout(timing.callMs)]);
        await client.hosts.startExec({ params: { req_id: id }, body: { token } }, { signal: call });
        return 'yes';
      } catch (failure) {
        if (isRefusal(failure)) {
          log(`the command ${id} is not started: ${describeFailure(failure)}`);
          return 'no';
        }
        await sleep(backoff.next(), undefined, { signal: AbortSignal.any([end, signal]) }).catch(() => {});
      }
    }
    return 'stopped';
  }

  async #startShell(
    entry: ExecEntry,
    { args, policy }: Admitted,
    signal: AbortSignal,
  ): Promise<{ leader: ProcessId; gone: Promise<void> } | OpOutcome | 'forgotten' | 'stopped'> {
    const { environment, hidden } = this.#options;
    const { id } = entry.record;
    const may = await this.#mayStart(entry, signal);
    if (may !== 'yes') return may === 'no' ? 'forgotten' : 'stopped';
    try {
      const checked = checkArgs('shell', args);
      const command = await shellCommand(checked, { places: { roots: policy.roots, hidden }, environment });
      if (signal.aborted) return { ok: false, error: String(signal.reason) };
      const marked = { ...command, env: { ...command.env, [execVariable]: id } };
      const timeoutMs = Math.min(checked.timeout_ms ?? mostTimeMs, mostTimeMs);
      return await startDetached(marked, this.#files(id), timeoutMs, (leader) =>
        this.#writeBegin(entry, { process: leader }),
      );
    } catch (error) {
      return error instanceof OpError
        ? failureOf(error, entry.record.frame, this.#options, signal)
        : { ok: false, error: journalError(error) };
    }
  }

  /** Writes down that a command begins, so that no loss of power brings back the file that says otherwise. */
  async #writeBegin(entry: ExecEntry, begin: Pick<ExecRecord, 'process' | 'began'>): Promise<void> {
    await entry.write(begin);
    await syncPath(this.#options.directory);
  }

  /** Does an operation that is no process. */
  async #operate({ controller: { signal } }: Own, entry: ExecEntry, admitted: Admitted): Promise<void> {
    const may = await this.#inTurn(() => this.#mayStart(entry, signal));
    if (may === 'no') return this.#close(entry);
    if (may === 'stopped') return;
    try {
      await this.#writeBegin(entry, { began: true });
    } catch (error) {
      return this.#settle(entry, { ok: false, error: journalError(error) });
    }
    const outcome = await perform(admitted, this.#options, signal).then(
      (result): OpOutcome => ({ ok: true, result }),
      (error: unknown) => failureOf(error, entry.record.frame, this.#options, signal),
    );
    await this.#settle(entry, outcome);
  }

  /** Follows a process to its end, sends what it writes, and kills it when that is asked for. */
  async #watch(own: Own, entry: ExecEntry, leader: ProcessId, gone?: Promise<void>): Promise<void> {
    const { log, signal: end } = this.#options;
    const { id } = entry.record;
    const files = this.#files(id);
    const sender = this.#senderOf(id, files);
    const { signal } = own.controller;
    const onAbort = () => {
      this.#kill(own, entry, leader).catch((error: unknown) =>
        log(`the command ${id} was not ended: ${String(error)}`),
      );
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (entry.record.ending) own.controller.abort(cancelled);
    else if (signal.aborted) onAbort();
    let isGone = false;
    void gone?.then(() => (isGone = true));
    while (gone ? !isGone : isRunning(leader)) {
      if (end.aborted) return;
      const passed = sleep(gone ? lookMs : lookForeignMs, undefined, { ref: false });
      await (gone ? Promise.race([gone, passed]) : passed);
      sender.wake();
    }
    const written = await readEnd(files);
    // What is in the background stays where the command ended by itself.
    const endedItself = written.code !== undefined && !written.timedOut && !entry.record.ending;
    if (!endedItself) killLeft(leader, `${execVariable}=${id}`);
    if (!written.hasBegun && isOfThisBoot(leader) && !gone && !entry.record.ending) {
      // The daemon that started it died before its last word: the command never ran.
      await sender.end(0);
      await entry.write({ process: undefined });
      return this.#goOn(own, entry);
    }
    const outcome = entry.record.outcome ?? outcomeOf(entry.record, leader, written);
    await this.#note(entry, { outcome });
    await sender.end(Number.POSITIVE_INFINITY);
    if (!end.aborted) await this.#settle(entry, sender.isCut ? cutOf(outcome) : outcome);
  }

  /** Ends the group of a command that was cancelled. */
  async #kill({ controller: { signal } }: Own, entry: ExecEntry, leader: ProcessId): Promise<void> {
    // A daemon that stops leaves it to the next one.
    if (signal.reason !== cancelled || !isRunning(leader)) return;
    await this.#note(entry, { ending: true, ended_processes: countCommands(leader.pid) });
    await endGroup(leader.pid, this.#options.killAfterMs);
  }

  /** Writes down that a command is ended, or how it ended. A full disk must not keep the gateway from knowing. */
  async #note(entry: ExecEntry, how: Partial<ExecRecord>): Promise<void> {
    const { log } = this.#options;
    await entry
      .write(how)
      .catch((error: unknown) => log(`the command ${entry.record.id}: not written down: ${String(error)}`));
  }

  #senderOf(id: string, files: ExecFiles): Sender {
    const { client, timing, log, signal } = this.#options;
    return new Sender({
      what: `the output of the command ${id}`,
      source: { read: (at) => readOutput(files, at) },
      post: (offset, body, call) =>
        client.hosts.appendOutput({ params: { req_id: id }, query: { offset }, body }, { signal: call }),
      timing: { ...timing, callMs: pieceMs },
      gatherMs: lookMs,
      log,
      signal,
    });
  }

  /** Tells the gateway how a command ended, until it has it, and forgets it. */
  async #settle(entry: ExecEntry, outcome: OpOutcome): Promise<void> {
    if (!entry.record.outcome) await this.#note(entry, { outcome });
    if (await this.#report(entry.record.id, outcome)) await this.#close(entry);
  }

  /** Posts an outcome until the gateway took or refused it; false when the daemon stops before. */
  async #report(id: string, outcome: OpOutcome): Promise<boolean> {
    const { client, timing, log, signal: end } = this.#options;
    const backoff = createBackoff(...timing.retryMs);
    const error = outcome.error?.replaceAll('\u0000', '').slice(0, mostError).toWellFormed();
    let body = { ...outcome, ...(error !== undefined && { error }) };
    for (let told = false; !end.aborted; told = true) {
      try {
        const call = AbortSignal.any([end, AbortSignal.timeout(timing.callMs)]);
        await client.hosts.result({ params: { req_id: id }, body }, { signal: call });
        return true;
      } catch (failure) {
        const isLarge = failure instanceof SvcError && failure.status === 413 && body.result !== undefined;
        if (isLarge) body = { ok: body.ok, error: 'result_too_large' };
        else if (isRefusal(failure)) {
          log(`the result of the command ${id} was refused: ${describeFailure(failure)}`);
          return true;
        } else {
          if (!told) log(`the result of the command ${id} was not taken: ${describeFailure(failure)}; trying again`);
          await sleep(backoff.next(), undefined, { signal: end }).catch(() => {});
        }
      }
    }
    return false;
  }

  async #close(entry: ExecEntry): Promise<void> {
    const { id } = entry.record;
    await entry.close();
    await removeFiles(this.#files(id));
  }

  #files(id: string): ExecFiles {
    return filesOf(join(this.#options.directory, id));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.then(work);
    this.#turn = next.catch(() => {});
    return next;
  }
}
