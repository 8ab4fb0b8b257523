import type { Kernel } from '../../kernel/kernel.ts';
import { type AnalysisParts, writeInsights } from './analysis/insights.ts';
import { makeVectors } from './analysis/vectors.ts';
import { prepare } from './pipeline/prepare.ts';
import { StepRunner } from './pipeline/runner.ts';
import { dueTopic } from './pipeline/settle.ts';
import { stitch } from './pipeline/stitch.ts';
import { countSteps } from './pipeline/steps.sql.ts';
import { Voices } from './pipeline/voices.ts';
import { hearWindow } from './pipeline/window.ts';

/** Bus topic: a transcript was deleted. */
export const removedTopic = 'transcripts.removed';
const countEveryMs = 15_000;

/** The processing of recordings, in every process that works. */
export class Pipeline {
  readonly #parts: AnalysisParts;
  #runner: StepRunner | undefined;
  #cancelCounts = (): void => {};

  constructor(parts: AnalysisParts) {
    this.#parts = parts;
  }

  /** Takes steps from now on. */
  async start(): Promise<void> {
    const { kernel, settling, pool } = this.#parts;
    const voices = new Voices();
    const runner = new StepRunner(kernel, settling, {
      prepare: prepare(this.#parts),
      window: hearWindow(this.#parts, voices),
      stitch: stitch(this.#parts, pool, voices),
      insights: writeInsights(this.#parts),
      vectors: makeVectors(this.#parts),
    });
    this.#runner = runner;
    await kernel.bus.subscribe(dueTopic, () => runner.wake());
    await kernel.bus.subscribe(removedTopic, (message) => {
      const { id } = message as { id: string };
      runner.endOf(id);
      voices.forget(id);
    });
    this.#countSteps(kernel);
    runner.wake();
  }

  /** Steps that wait and run, for the metric: counted now and then, as a scrape must not ask the database. */
  #countSteps({ clock, background, metrics, log }: Kernel): void {
    let counts = { waiting: 0, running: 0 };
    let counting: Promise<unknown> | undefined;
    this.#cancelCounts = clock.every(countEveryMs, () => {
      // A database that takes longer is not asked once more.
      counting ??= countSteps(background)
        .then((now) => (counts = now))
        .catch((err: unknown) => log.debug({ err }, 'steps of transcripts were not counted'))
        .finally(() => (counting = undefined));
    });
    metrics.gauge('svc_transcript_steps_waiting', 'Steps of transcripts that wait', () => counts.waiting);
    metrics.gauge('svc_transcript_steps_running', 'Steps of transcripts that run', () => counts.running);
  }

  /** Hands back what is under way. */
  async stop(): Promise<void> {
    this.#cancelCounts();
    await this.#runner?.stop();
    await this.#parts.files.stop();
  }
}
