import { type Client, isSvcError } from '@svc/sdk';
import { createBackoff } from '../backoff.ts';
import type { ConnectionTiming } from '../connection.ts';
import { toOpError } from '../failure.ts';
import type { Policy, PolicySource } from '../policy.ts';
import type { Machine } from '../runs/context.ts';
import { runPrompt } from '../runs/shell.ts';
import type { Approver } from '../approval.ts';
import type { Taken, TakenPrompts } from './journal.ts';
import type { Control } from './listen.ts';
import { TurnReport } from './turn.ts';
import { SessionOver, SessionWriter } from './writer.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** Options for running prompts. */
export interface PromptsOptions {
  client: Client;
  policy: PolicySource;
  machine: Machine;
  approver: Approver;
  timing: ConnectionTiming;
  taken: TakenPrompts;
  log: (text: string) => void;
  /** Ends every attempt to report. */
  signal: AbortSignal;
}

/** Longer than an agent works at one prompt; what hangs ends. */
const mostRunMs = 4 * 3_600_000;
/** Far more than wait for a device (200). */
const mostSeen = 5_000;

/** Runs prompts that are sent to this machine with the agent command of the policy: those of a session one by one. */
export class PromptRunner {
  readonly #options: PromptsOptions;
  /** Ends of what runs or waits, by session; each waits for the one before. */
  readonly #lines = new Map<string, Promise<void>>();
  /** Controls that were seen: a stream that opens again tells them again. */
  readonly #seen = new Set<string>();
  /** Abort controllers of the prompts that run or wait, by session. */
  readonly #endings = new Map<string, Set<AbortController>>();
  /** Abort controllers of the prompts that have not begun, by control. */
  readonly #unbegun = new Map<string, AbortController>();
  readonly #running = new Set<AbortController>();
  /** Prompts that run, and those that wait for a place. */
  #places = 0;
  readonly #waiting = new Set<() => void>();
  #isStopped = false;
  /** The gateway refuses this machine: nothing runs meanwhile. */
  #isRefused = false;

  constructor(options: PromptsOptions) {
    this.#options = options;
  }

  /** Goes on with what an earlier daemon took: what had started is reported as ended, what had not is run. */
  async recover(): Promise<void> {
    for (const entry of await this.#options.taken.list()) {
      this.#seen.add(entry.id);
      if (entry.started) this.#line(entry.session_id, () => this.#interrupted(entry));
      else this.#queue(entry, (ending) => this.#acknowledged(entry, ending));
    }
  }

  /** Does what a control asks for. Never throws. */
  take({ id, session_id, type, text = '', withdrawn_at }: Control): void {
    if (withdrawn_at !== undefined) return this.#unbegun.get(id)?.abort('it was taken back');
    if (this.#seen.has(id) || this.#isStopped) return;
    this.#seen.add(id);
    // Long acknowledged: the oldest comes first.
    for (const old of this.#seen)
      if (this.#seen.size > mostSeen) this.#seen.delete(old);
      else break;
    if (type === 'send') {
      const entry = { id, session_id, text, started: false };
      this.#queue(entry, async (ending) => {
        try {
          await this.#options.taken.keep(entry);
        } catch (error) {
          // It waits at the gateway until the stream opens again.
          this.#seen.delete(id);
          throw error;
        }
        await this.#acknowledged(entry, ending);
      });
      return;
    }
    if (type === 'stop') for (const ending of this.#endings.get(session_id) ?? []) ending.abort('stopped');
    const done = type === 'stop' ? this.#acknowledge({ id, session_id }) : this.#unknown({ id, session_id }, type);
    void done.catch(() => this.#seen.delete(id));
  }

  /** Answers a control that this daemon does not know, so that its sender hears of it. */
  async #unknown(control: Pick<Taken, 'id' | 'session_id'>, type: string): Promise<void> {
    const { id, session_id } = control;
    const error = `this host does not know the control ${type}`;
    const text = `This host did nothing: it does not know the control ${type}`;
    const event = { type: 'message' as const, turn_id: id, id: `${id}:unknown`, role: 'system', text };
    const writer = this.#writer(session_id);
    try {
      await writer.append([{ ...event, data: { ok: false, error } }]);
      await writer.release().catch(() => {});
    } catch (failure) {
      if (!(failure instanceof SessionOver)) throw failure;
    }
    await this.#acknowledge(control);
  }

  /** The gateway refuses this machine, as its account is suspended or its key revoked: what runs ends, and none begins. */
  refuse(reason: string): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    for (const running of this.#running) running.abort(reason);
  }

  /** The gateway takes this machine again. */
  admit(): void {
    this.#isRefused = false;
    this.#wake();
  }

  /** Takes no more and ends what runs; resolves when all of it is reported. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const endings of this.#endings.values()) for (const ending of endings) ending.abort('the daemon was stopped');
    await Promise.allSettled(this.#lines.values());
  }

  /** Puts work at the end of its session's line; from now on a `stop` reaches it. */
  #queue({ id, session_id: session }: Taken, work: (ending: AbortController) => Promise<void>): void {
    const ending = new AbortController();
    const endings = this.#endings.get(session) ?? new Set();
    this.#endings.set(session, endings.add(ending));
    this.#unbegun.set(id, ending);
    this.#line(session, async () => {
      try {
        await work(ending);
      } finally {
        endings.delete(ending);
        this.#unbegun.delete(id);
        if (endings.size === 0 && this.#endings.get(session) === endings) this.#endings.delete(session);
      }
    });
  }

  #line(session: string, work: () => Promise<void>): void {
    const before = this.#lines.get(session) ?? Promise.resolve();
    const next = before.then(work).catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.log(`a prompt of session ${session}: ${String(error)}`);
    });
    this.#lines.set(session, next);
    void next.then(() => void (this.#lines.get(session) === next && this.#lines.delete(session)));
  }

  /** Tells the gateway that it need not send this again; false when it is not there any more. */
  async #acknowledge({ id, session_id }: Pick<Taken, 'id' | 'session_id'>): Promise<boolean> {
    const { client, timing, signal } = this.#options;
    const backoff = createBackoff(...timing.retryMs);
    for (;;) {
      try {
        const params = { id: session_id, control_id: id };
        await client.sessions.ackControl({ params }, { signal, timeoutMs: 30_000 });
        return true;
      } catch (error) {
        if (isSvcError(error, 'not_found')) return false;
        if (signal.aborted) throw error;
        await sleep(backoff.next(), undefined, { signal });
      }
    }
  }

  /** Runs a prompt once the gateway knows that it is here; one that was taken back meanwhile is forgotten. */
  async #acknowledged(entry: Taken, ending: AbortController): Promise<void> {
    if (await this.#acknowledge(entry)) await this.#run(entry, ending);
    else await this.#options.taken.forget(entry.id);
  }

  async #run(entry: Taken, ending: AbortController): Promise<void> {
    // The next daemon runs prompts that were taken and not begun.
    if (this.#isStopped) return;
    const { taken, policy } = this.#options;
    const writer = this.#writer(entry.session_id);
    try {
      const now = await policy.current();
      const refusal = (await this.#refusal(entry, now, ending.signal)) ?? (await this.#place(now.parallel, ending));
      // Stopped before it began: the next daemon asks or waits again.
      if (this.#isStopped) return;
      if (refusal === undefined) await this.#turn(entry, now, { writer, ending });
      else {
        const text = `This host did not run the prompt: ${refusal}`;
        const event = { type: 'message' as const, turn_id: entry.id, id: `${entry.id}:refused`, role: 'system', text };
        const data = { ok: false, error: refusal };
        await writer.append([
          { ...event, data },
          { type: 'turn_end', turn_id: entry.id, data },
        ]);
      }
    } catch (error) {
      if (!(error instanceof SessionOver)) throw error;
    }
    await taken.forget(entry.id);
    await writer.release().catch(() => {});
  }

  /** Waits while the gateway refuses this machine, and while as many prompts run as may at once; answers why it was given up. Else the place is the caller's. */
  async #place(most: number, { signal }: AbortController): Promise<string | undefined> {
    while ((this.#places >= most || this.#isRefused) && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      this.#waiting.delete(resolve);
    }
    if (signal.aborted) return String(signal.reason);
    this.#places += 1;
    return undefined;
  }

  /** Runs a prompt that has a place, and reports its turn. */
  async #turn(entry: Taken, policy: Policy, { writer, ending }: { writer: SessionWriter; ending: AbortController }) {
    const { taken, machine } = this.#options;
    const timer = setTimeout(() => ending.abort('timed out'), mostRunMs).unref();
    this.#running.add(ending);
    const report = new TurnReport(entry.id, entry.text, writer, () => ending.abort('its session is over'));
    try {
      // The gateway decides here: a prompt that was taken back before does not start.
      await report.begin();
      this.#unbegun.delete(entry.id);
      const outcome = await runPrompt(
        { id: entry.id, attempt: 1 },
        {
          machine,
          policy,
          signal: ending.signal,
          onStarted: () => taken.keep({ ...entry, started: true }),
          onTail: report.follow,
        },
        { prompt: entry.text },
        { SVC_SESSION_ID: entry.session_id },
      ).catch((error: unknown) => ({ ok: false, error: toOpError(error).message }));
      await report.end(outcome);
    } catch (error) {
      if (!(error instanceof SessionOver && error.isWithdrawn)) throw error;
      // An earlier daemon may have begun the turn.
      await report.end({ ok: false, error: 'it was taken back' });
    } finally {
      clearTimeout(timer);
      this.#running.delete(ending);
      this.#places -= 1;
      this.#wake();
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Reports what a daemon that was killed had begun. */
  async #interrupted(entry: Taken): Promise<void> {
    const writer = this.#writer(entry.session_id);
    try {
      const report = new TurnReport(entry.id, entry.text, writer);
      // It is there, unless an older daemon wrote the journal.
      await report.begin().catch((error: unknown) => {
        if (!(error instanceof SessionOver && error.isWithdrawn)) throw error;
      });
      await report.end({ ok: false, error: 'the daemon of this host was ended' });
    } catch (error) {
      if (!(error instanceof SessionOver)) throw error;
    }
    await this.#options.taken.forget(entry.id);
    await writer.release().catch(() => {});
  }

  #writer(sessionId: string): SessionWriter {
    const { client, timing, signal } = this.#options;
    return new SessionWriter({ client, sessionId, retryMs: timing.retryMs, signal });
  }

  /** Why a prompt is not run here; undefined when it may be. */
  async #refusal({ text }: Taken, policy: Policy, ending: AbortSignal): Promise<string | undefined> {
    const { approver, signal } = this.#options;
    if (!policy.kinds.includes('agent')) return 'its policy runs no agents';
    if (!policy.agent) return 'no agent command is configured on this host';
    if (!policy.agent.ask) return undefined;
    const how = 'approve it at a terminal of its daemon, or set agent.ask to false in its policy file';
    if (!approver.available()) return `it asks about each prompt; ${how}`;
    // Whole: what matters may stand at the end.
    const question = `run the agent with this prompt? ${text}`;
    const answer = await approver.ask(question, AbortSignal.any([signal, ending]));
    if (ending.aborted) return String(ending.reason);
    return answer === 'yes' ? undefined : `nobody there approved it; ${how}`;
  }
}
