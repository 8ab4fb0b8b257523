import { contract } from '@svc/contract';
import { askQuestion, type Answered, extractAnswer, type Passage, readAnswer } from '@svc/insights';
import { ApiError, notFound } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { Inference } from '../inference/index.ts';
import { find, type Hit } from './analysis/find.ts';
import { askModel, newBoundary } from './analysis/models.ts';
import { countInScope, showPassages } from './analysis/search.sql.ts';

/** Document 1 names it for verification; a short answer from passages is work of the same kind. */
const model = 'svc-fast';
const mostTokens = 2_000;
const mostPassages = 40;
/** Utterances before and after one that was found: an answer often follows its question. */
const around = 2;
const mostChars = 60_000;

export const ask = (inference: Inference): Operation =>
  operation(contract.transcripts.ask, async (context, { body }) => {
    const started = context.clock.monotonic();
    const { question, ...scope } = body;
    const { accountId } = context.actor;
    const ids = body.transcript_ids && [...new Set(body.transcript_ids)];
    const searched = await countInScope(context.db, accountId, { ...scope, transcript_ids: ids });
    if (ids && (await countInScope(context.db, accountId, { transcript_ids: ids })) < ids.length)
      throw notFound('transcript');
    const { hits, degraded } = await find(context, inference, { q: question, mode: 'hybrid', scope });
    const passages = await passagesOf(context, hits);
    const { answered, by } = await answerOf(context, inference, question, passages);
    return {
      answer: answered.answer,
      citations: answered.citations.map(({ n, passage, quote }) => ({
        n,
        transcript_id: passage.transcriptId,
        title: passage.title,
        seq: passage.seq,
        speaker: passage.speaker,
        speaker_name: passage.speakerName,
        start_ms: passage.startMs,
        end_ms: passage.endMs,
        quote,
      })),
      transcripts_searched: searched,
      model: by,
      took_ms: Math.round(context.clock.monotonic() - started),
      degraded: [...degraded, ...(by === 'extractive' ? (['insights'] as const) : [])],
    };
  });

/** Utterances that were found with those around them, each once, the best passages first. */
async function passagesOf({ db, actor }: Context, hits: readonly Hit[]): Promise<Passage[]> {
  const places = hits.slice(0, mostPassages).map(({ transcript_id, seq, to_seq }) => ({
    transcript_id,
    from_seq: Math.max(0, seq - around),
    to_seq: to_seq + around,
  }));
  let chars = 0;
  const rows = await showPassages(db, actor.accountId, places);
  return rows
    .filter(({ text }) => (chars += text.length) <= mostChars)
    .map((row, index) => ({
      n: index + 1,
      transcriptId: row.transcript_id,
      title: row.title ?? row.insights_title ?? '',
      startedAt: new Date(row.started_at),
      seq: row.seq,
      speaker: row.speaker,
      speakerName: row.speaker_name,
      startMs: row.start_ms,
      endMs: row.end_ms,
      text: row.text,
    }));
}

/** A model's answer whose quotes stand; without one the passages themselves. */
async function answerOf(
  context: Context,
  inference: Inference,
  question: string,
  passages: readonly Passage[],
): Promise<{ answered: Answered; by: string }> {
  if (passages.length > 0) {
    try {
      const messages = askQuestion(question, passages, newBoundary());
      const said = await askModel(inference, context, { model, messages, mostTokens }, (answer) => {
        // Its use is recorded with what it cost.
        context.accountItself();
        return readAnswer(answer, passages);
      });
      return { answered: said.value.answered, by: said.model };
    } catch (error) {
      if (!(error instanceof ApiError) || context.signal.aborted) throw error;
    }
  }
  return { answered: extractAnswer(question, passages), by: 'extractive' };
}
