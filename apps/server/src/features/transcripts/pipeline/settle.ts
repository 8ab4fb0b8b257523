import { type Db, inTransaction } from '../../../kernel/db/db.ts';
import { type Instant, plus, readNow } from '../../../kernel/db/instant.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { releaseMinutes } from '../library/allowance.ts';
import { moveOfStep, plannedState, type StepGiven, type StepMove } from '../transcripts.moves.ts';
import type { StepKind, StepRow, Track, TranscriptRow } from '../transcripts.rows.ts';
import { lockTranscript } from '../transcripts.sql.ts';
import { stepStates } from '../transcripts.states.ts';
import type { Transcripts } from '../transcripts.store.ts';
import { hasUtterances } from '../text/text.sql.ts';
import type { Tellers } from './tell.ts';
import { changeStep, insertSteps, lockStep, stepsOf } from './steps.sql.ts';

/** Bus topic: steps are due. */
export const dueTopic = 'transcripts.due';

/** A step and its transcript, both locked. */
export interface Held {
  tx: Db;
  now: Instant;
  step: StepRow;
  row: TranscriptRow;
}

/** Commits what comes of steps: their moves, and what follows for their transcript. */
export class Settling {
  readonly #kernel: Kernel;
  readonly #transcripts: Transcripts;
  readonly #tell: Tellers;

  constructor(kernel: Kernel, transcripts: Transcripts, tell: Tellers) {
    this.#kernel = kernel;
    this.#transcripts = transcripts;
    this.#tell = tell;
  }

  /**
   * Runs `work` in one transaction with the step and its transcript locked. Undefined when the step is another gateway's by now,
   * or gone: nothing of this attempt counts then.
   */
  async with<T>(
    step: Pick<StepRow, 'id' | 'attempt' | 'transcript_id' | 'account_id'>,
    work: (held: Held) => Promise<T>,
  ) {
    return inTransaction(this.#kernel.background, async (tx) => {
      // First the transcript, as everybody does who locks both.
      const row = await lockTranscript(tx, step.account_id, step.transcript_id);
      const locked = row && (await lockStep(tx, step));
      if (!row || !locked) return undefined;
      return work({ tx, now: await readNow(tx, this.#kernel.clock), step: locked, row });
    });
  }

  /** Moves a locked step. */
  async move<N extends StepMove>({ tx, now, step }: Held, name: N, given: StepGiven<N>): Promise<StepRow> {
    const change = moveOfStep(step, name, given, now);
    if (!change) throw new Error(`a step that is ${step.state} cannot ${name}`);
    await changeStep(tx, step.id, change);
    const { result: _result, finished_at: _finished, ...columns } = change;
    return { ...step, ...columns };
  }

  /** Plans further steps of the transcript. */
  async plan(
    { tx, row }: Pick<Held, 'tx' | 'row'>,
    steps: readonly { kind: StepKind; track?: Track; n?: number; given?: object }[],
  ) {
    const of = { transcriptId: row.id, accountId: row.account_id, generation: row.generation, state: plannedState };
    await insertSteps(
      tx,
      this.#kernel.clock,
      steps.map((step) => ({ ...of, ...step })),
    );
    await this.#kernel.bus.publish(tx, dueTopic, null);
  }

  /** A try failed: the step waits for its next one, or has failed for good, and with it perhaps the transcript. */
  async failed(
    held: Held,
    error: string,
    { waitMs, isFinal = false }: { waitMs: number; isFinal?: boolean },
  ): Promise<void> {
    const { tx, now, row } = held;
    const dueAt = plus(now, waitMs).iso;
    const moved = isFinal
      ? await this.move(held, 'refuse', { error })
      : await this.move(held, 'retry', { error, dueAt });
    if (stepStates.isFinal(moved.state) || moved.state === 'failed') await this.#gaveUp(held, error);
    else await this.#transcripts.tell(tx, 'updated', row);
  }

  async #gaveUp(held: Held, error: string): Promise<void> {
    const { step } = held;
    if (step.kind === 'vectors') return;
    if (step.kind === 'window') return this.windowOver(held);
    await this.fail(held, error);
  }

  /** The transcript failed; what was done before stays. */
  async fail({ tx, now, row }: Pick<Held, 'tx' | 'now' | 'row'>, error: string): Promise<void> {
    const moved = await this.#transcripts.move(tx, now, row, 'fail', { error });
    if (!moved) return;
    if (!(await hasUtterances(tx, row.id))) await releaseMinutes(tx, row.id);
    await this.#tell.failed(tx, moved);
  }

  /** A window is done or given up: after the last one they are put together, unless none was heard. */
  async windowOver(held: Held): Promise<void> {
    const { tx, row, step } = held;
    const windows = (await stepsOf(tx, row.id, step.generation)).filter(({ kind }) => kind === 'window');
    if (windows.some(({ state }) => stepStates.where('unfinished').includes(state))) return;
    if (windows.some(({ state }) => state === 'done')) return this.plan(held, [{ kind: 'stitch' }]);
    const [first] = windows;
    await this.fail(held, first?.last_error ?? 'nothing was heard');
  }
}
