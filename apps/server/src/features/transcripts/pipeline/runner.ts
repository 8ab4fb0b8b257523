import { inTransaction } from '../../../kernel/db/db.ts';
import { plus, readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { type GiveBack, Share } from '../../../kernel/share/share.ts';
import { type Loop, startLoop } from '../../../kernel/work/loop.ts';
import { moveOfStep } from '../transcripts.moves.ts';
import type { StepKind, StepRow } from '../transcripts.rows.ts';
import { failureOf, HandBack } from './failure.ts';
import type { Settling } from './settle.ts';
import { suspendedOf } from './standing.sql.ts';
import { changeStep, lockDue, lockLost, renewSteps, untilDue } from './steps.sql.ts';

/** Steps at a time in a process, and of one account. */
const groups: readonly { kinds: readonly StepKind[]; places: { total: number; ofOne: number } }[] = [
  { kinds: ['prepare'], places: { total: 2, ofOne: 1 } },
  { kinds: ['window'], places: { total: 8, ofOne: 4 } },
  { kinds: ['stitch', 'insights', 'vectors'], places: { total: 8, ofOne: 4 } },
];
const leaseSeconds = 60;
const renewEveryMs = 20_000;
/** Interval of looking for steps that the bus did not announce, and for those of gateways that were killed. */
const lookEveryMs = 3_000;
/** Nothing of an account outlives its standing by 10 s. */
const standingEveryMs = 3_000;
const drainMs = 3_000;
const suspendedWaitMs = 10_000;
const lostAtOnce = 100;

/** Does one step; commits its result itself (`Settling.with`). Throws what `failureOf` reads. */
export type StepWork = (step: StepRow, signal: AbortSignal) => Promise<void>;

interface Running {
  step: StepRow;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Takes steps that are due by lease, dealt by account, and has them done. What a gateway had that was killed is taken again as
 * soon as its own lease is over, and counts as a try: a file that kills its worker must not go round for ever.
 */
export class StepRunner {
  readonly #kernel: Kernel;
  readonly #settling: Settling;
  readonly #works: Readonly<Record<StepKind, StepWork>>;
  readonly #shares = groups.map(({ kinds, places }) => ({ kinds, share: new Share(places) }));
  readonly #running = new Map<string, Running>();
  readonly #ended: ReturnType<Kernel['metrics']['counter']>;
  readonly #seconds: ReturnType<Kernel['metrics']['counter']>;
  readonly #loop: Loop;
  readonly #watching: Loop;
  readonly #renewing: Loop;

  constructor(kernel: Kernel, settling: Settling, works: Readonly<Record<StepKind, StepWork>>) {
    this.#kernel = kernel;
    this.#settling = settling;
    this.#works = works;
    const { metrics } = kernel;
    const labels = ['kind', 'outcome'];
    this.#ended = metrics.counter('svc_transcript_steps_total', 'Steps of transcripts, by how they ended', labels);
    this.#seconds = metrics.counter('svc_transcript_seconds_total', 'Seconds that steps took', ['kind']);
    const loop = (name: string, everyMs: number, work: () => Promise<number | void>): Loop =>
      startLoop(kernel, { name: `transcripts.${name}`, everyMs, work });
    this.#loop = loop('steps', lookEveryMs, () => this.#take());
    this.#watching = loop('standing', standingEveryMs, () => this.#endSuspended());
    this.#renewing = loop('leases', renewEveryMs, () => this.#renew());
  }

  /** Looks for work now. */
  wake(): void {
    this.#loop.wake();
  }

  /** Ends what is under way of a transcript that is deleted. */
  endOf(transcriptId: string): void {
    for (const { step, abort } of this.#running.values())
      if (step.transcript_id === transcriptId) abort.abort(new HandBack(0));
  }

  /** Lets steps end for a moment, then hands the rest back to the other gateways. */
  async stop(): Promise<void> {
    await Promise.all([this.#loop.stop(), this.#watching.stop(), this.#renewing.stop()]);
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#kernel.clock.after(drainMs, resolve);
    const allDone = () => Promise.all([...this.#running.values()].map(({ done }) => done));
    await Promise.race([promise, allDone()]);
    cancel();
    for (const { abort } of this.#running.values()) abort.abort(new HandBack(0));
    await allDone();
  }

  async #take(): Promise<number | void> {
    const { background: sql, clock } = this.#kernel;
    await this.#takeLost();
    for (const { kinds, share } of this.#shares) {
      const deal = share.open();
      if (deal.total <= 0) continue;
      const taken = await inTransaction(sql, async (tx) => {
        const now = await readNow(tx, clock);
        const given = { gatewayId: this.#kernel.gateways.id, leaseUntil: plus(now, leaseSeconds * 1000).iso };
        const steps = await lockDue(tx, clock, kinds, deal);
        return Promise.all(
          steps.map(async (step) => {
            const change = moveOfStep(step, 'take', given, now);
            if (!change) throw new Error(`a step that is ${step.state} was taken`);
            await changeStep(tx, step.id, change);
            return { ...step, ...change };
          }),
        );
      });
      for (const step of taken) this.#begin(step, share.take(step.account_id));
    }
    return untilDue(sql, clock);
  }

  #begin(step: StepRow, giveBack: GiveBack | undefined): void {
    const abort = new AbortController();
    const done = this.#run(step, abort.signal)
      .catch((err: unknown) => this.#kernel.log.error({ err, step: step.id }, 'a step of a transcript was not settled'))
      .finally(() => {
        this.#running.delete(step.id);
        giveBack?.();
        this.#loop.wake();
      });
    this.#running.set(step.id, { step, abort, done });
  }

  async #run(step: StepRow, signal: AbortSignal): Promise<void> {
    const { kind } = step;
    const began = this.#kernel.clock.monotonic();
    try {
      await this.#works[kind](step, signal);
      this.#ended({ kind, outcome: 'done' });
    } catch (error) {
      this.#ended({ kind, outcome: signal.aborted ? 'handed back' : 'failed' });
      const failure = failureOf(signal.aborted ? signal.reason : error, step);
      if (failure.isUnexpected)
        this.#kernel.log.error({ err: error, step: step.id, kind }, 'a step of a transcript broke');
      await this.#settling.with(step, async (held) => {
        if (failure.kind === 'hand back') {
          const dueAt = plus(held.now, failure.waitMs).iso;
          await this.#settling.move(held, 'handBack', { dueAt, error: failure.message });
        } else await this.#settling.failed(held, failure.message, failure);
      });
    } finally {
      this.#seconds({ kind }, (this.#kernel.clock.monotonic() - began) / 1000);
    }
  }

  async #takeLost(): Promise<void> {
    const { background: sql, clock } = this.#kernel;
    const lost = await inTransaction(sql, (tx) => lockLost(tx, clock, lostAtOnce));
    for (const step of lost) {
      // This gateway is late with its own lease, and goes on as long as nobody else takes it.
      if (this.#running.has(step.id)) continue;
      await this.#settling.with(step, (held) =>
        this.#settling.failed(held, 'the gateway that did it ended', { waitMs: 0 }),
      );
    }
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return;
    const { background: sql, clock, gateways } = this.#kernel;
    const ids = [...this.#running.keys()];
    const own = await renewSteps(sql, clock, { gatewayId: gateways.id, ids, seconds: leaseSeconds });
    for (const id of ids) if (!own.has(id)) this.#running.get(id)?.abort.abort(new HandBack(0));
  }

  /** Steps of an account that may not go on are handed back, and wait until it may. */
  async #endSuspended(): Promise<void> {
    if (this.#running.size === 0) return;
    const accountIds = [...new Set([...this.#running.values()].map(({ step }) => step.account_id))];
    const suspended = new Set(await suspendedOf(this.#kernel.background, accountIds));
    for (const { step, abort } of this.#running.values())
      if (suspended.has(step.account_id)) abort.abort(new HandBack(suspendedWaitMs));
  }
}
