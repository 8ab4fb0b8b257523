import { type Insights, insightsQuestion, mergeQuestion, partsOf, type Recording } from '@svc/insights';
import type { Actor } from '../../../kernel/base/actor.ts';
import { ApiError } from '../../../kernel/base/errors.ts';
import type { Inference } from '../../inference/index.ts';
import type { KeyLookup } from '../../keys/index.ts';
import type { PipelineParts } from '../pipeline/prepare.ts';
import type { StepWork } from '../pipeline/runner.ts';
import type { Tellers } from '../pipeline/tell.ts';
import type { TranscriptPool } from '../work/pool.ts';
import type { StoredInsights, TranscriptRow } from '../transcripts.rows.ts';
import { addCost, bookmarksOf } from '../transcripts.sql.ts';
import { speakersOf, utterancesOf } from '../text/text.sql.ts';
import { languageOfRow } from '../transcripts.view.ts';
import { askerOf, askModel, newBoundary } from './models.ts';

/** The alias that writes insights. */
const model = 'svc';
const mostTokens = 6_000;

/** What the analysis of recordings works with. */
export interface AnalysisParts extends PipelineParts {
  inference: Inference;
  lookup: KeyLookup;
  pool: TranscriptPool;
  tell: Tellers;
}

/** Insights, who wrote them and what they cost. */
interface Written {
  insights: Insights;
  model: string;
  costMicroUsd: number;
}

/** Writes the insights of a recording: with a model where the key may ask one, else sentences of it stand for them. */
export const writeInsights =
  (parts: AnalysisParts): StepWork =>
  async (step, signal) => {
    const { kernel, transcripts, settling, pool, tell } = parts;
    const row = await transcripts.get(kernel.background, step.account_id, step.transcript_id);
    const recording = await recordingOf(parts, row);
    const spent = { microUsd: 0 };
    const asked = await fromModel(parts, { row, recording, spent, signal });
    const { insights: found, model: by } = asked ?? {
      insights: await pool.do(row.account_id, { kind: 'extract', recording }, signal),
      model: 'extractive',
    };
    const written: Written = { insights: found, model: by, costMicroUsd: spent.microUsd };
    await settling.with(step, async (held) => {
      await settling.move(held, 'finish', { result: null, costMicroUsd: written.costMicroUsd });
      await addCost(held.tx, row.id, written.costMicroUsd);
      const lacks = new Set(held.row.degraded);
      if (asked) lacks.delete('insights');
      else lacks.add('insights');
      const insights = stored(written, held.now.iso);
      const moved = await transcripts.move(held.tx, held.now, held.row, 'analyze', { insights, degraded: [...lacks] });
      if (moved) await tell.ready(held.tx, moved);
    });
  };

/** The recording as questions and extracts take it. */
async function recordingOf({ kernel }: AnalysisParts, row: TranscriptRow): Promise<Recording> {
  const [utterances, speakers, bookmarks] = await Promise.all([
    utterancesOf(kernel.background, row.id),
    speakersOf(kernel.background, [row.id]),
    bookmarksOf(kernel.background, row.id),
  ]);
  return {
    title: row.title,
    startedAt: new Date(row.started_at),
    durationMs: row.duration_ms ?? 0,
    language: languageOfRow(row),
    speakers: speakers.map(({ label, name, is_self: isSelf }) => ({ label, name, isSelf })),
    utterances: utterances.map(({ seq, speaker, start_ms: startMs, end_ms: endMs, text }) => ({
      seq,
      speaker,
      startMs,
      endMs,
      text,
    })),
    bookmarks: bookmarks.map(({ at_ms: atMs, note }) => ({ atMs, note })),
  };
}

const stored = ({ insights, model: by }: Written, at: string): StoredInsights => ({
  ...insights,
  prompts: insights.prompts.map((one, index) => ({ ...one, index, accepted_prompt_id: null })),
  model: by,
  generated_at: at,
});

interface Question {
  row: TranscriptRow;
  recording: Recording;
  /** What models cost so far. */
  spent: { microUsd: number };
  signal: AbortSignal;
}

/** Undefined: no model could be asked, or none answered as it should. A fault of ours is thrown. */
async function fromModel(
  parts: AnalysisParts,
  question: Question,
): Promise<Pick<Written, 'insights' | 'model'> | undefined> {
  const { row, recording, signal } = question;
  const actor = row.key_id === null ? undefined : await parts.lookup.authenticateId(row.key_id);
  if (!actor || recording.utterances.length === 0) return undefined;
  try {
    return await askParts(parts, actor, question);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    parts.kernel.log.info({ transcript: row.id, reason: error.message }, 'no model wrote the insights');
    return undefined;
  }
}

/** A long recording is asked about in parts, and once more about what they came to. */
async function askParts(
  { kernel, inference, pool }: AnalysisParts,
  actor: Actor,
  { row, recording, spent, signal }: Question,
): Promise<Pick<Written, 'insights' | 'model'>> {
  const ask = async (messages: ReturnType<typeof insightsQuestion>, of: Recording) => {
    if (spent.microUsd >= kernel.config.transcriptCostMicroUsd)
      throw new ApiError('quota_exceeded', 'models cost as much as they may for one recording');
    const asker = askerOf(kernel, actor, { traceId: row.id, operationId: 'transcripts.analyze', signal });
    const said = await askModel(inference, asker, { model, messages, mostTokens }, (answer) =>
      pool.do(row.account_id, { kind: 'read', answer, recording: of }, signal),
    );
    spent.microUsd += said.costMicroUsd;
    return { insights: said.value.insights, model: said.model };
  };
  const answers: Pick<Written, 'insights' | 'model'>[] = [];
  for (const part of partsOf(recording)) answers.push(await ask(insightsQuestion(part, newBoundary()), part));
  const [only] = answers;
  if (only && answers.length === 1) return only;
  const all = answers.map(({ insights }) => insights);
  return ask(mergeQuestion(recording, all, newBoundary()), recording);
}
