import { ApiError } from '../../../kernel/base/errors.ts';
import type { StepWork } from '../pipeline/runner.ts';
import type { TranscriptRow, UtteranceRow } from '../transcripts.rows.ts';
import { utterancesOf } from '../text/text.sql.ts';
import type { AnalysisParts } from './insights.ts';
import { askerOf } from './models.ts';
import { replaceVectors, type VectorRow } from './vectors.sql.ts';

/** The alias of models that make vectors. */
export const vectorModel = 'svc-embed';
/** Characters of a passage: some sentences, which have one meaning. */
const passageChars = 800;
const atOnce = 64;
const mostPassages = 4_000;

/** Vectors of all passages, by one model. */
interface Made {
  rows: VectorRow[];
  model: string;
}

/** Makes the vectors by which a recording is found by meaning. Without a model it is marked as degraded, and nothing fails. */
export const makeVectors =
  (parts: AnalysisParts): StepWork =>
  async (step, signal) => {
    const { kernel, transcripts, settling } = parts;
    const row = await transcripts.get(kernel.background, step.account_id, step.transcript_id);
    const made = await vectorsOf(parts, row, signal);
    await settling.with(step, async (held) => {
      await settling.move(held, 'finish', { result: null, costMicroUsd: 0 });
      const lacks = new Set(held.row.degraded);
      if (made) lacks.delete('semantic');
      else lacks.add('semantic');
      await replaceVectors(held.tx, row, made?.model ?? '', made?.rows ?? []);
      await transcripts.change(held.tx, held.row, { degraded: [...lacks] });
    });
  };

/** Undefined: no model makes them. */
async function vectorsOf(
  { kernel, lookup, inference }: AnalysisParts,
  row: TranscriptRow,
  signal: AbortSignal,
): Promise<Made | undefined> {
  const actor = row.key_id === null ? undefined : await lookup.authenticateId(row.key_id);
  if (!actor) return undefined;
  const passages = passagesOf(await utterancesOf(kernel.background, row.id));
  const made: Made = { rows: [], model: '' };
  try {
    for (let at = 0; at < passages.length; at += atOnce) {
      const some = passages.slice(at, at + atOnce);
      const asker = askerOf(kernel, actor, { traceId: row.id, operationId: 'transcripts.analyze', signal });
      const texts = some.map(({ text }) => text);
      const { vectors, model } = await inference.vectors(asker, vectorModel, texts);
      // Vectors of two models cannot be compared: another lane answered in between.
      if (at > 0 && made.model !== model) throw new ApiError('unavailable', 'another model answered in between');
      made.model = model;
      for (const [index, { seq, toSeq }] of some.entries())
        made.rows.push({ seq, to_seq: toSeq, ...quantised(vectors[index] as Float32Array) });
    }
    return made;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    kernel.log.info({ transcript: row.id, reason: error.message }, 'no model made the vectors');
    return undefined;
  }
}

/** Utterances in a row, some sentences long. */
function passagesOf(utterances: readonly UtteranceRow[]): { seq: number; toSeq: number; text: string }[] {
  const passages: { seq: number; toSeq: number; text: string }[] = [];
  for (const { seq, text } of utterances) {
    const last = passages.at(-1);
    if (last && last.text.length + text.length < passageChars) {
      last.text += ` ${text}`;
      last.toSeq = seq;
    } else passages.push({ seq, toSeq: seq, text });
  }
  return passages.slice(0, mostPassages);
}

/** A vector as its signs, and as bytes of -127 to 127 by its largest number. */
export function quantised(vector: Float32Array): { bits: string; bytes: Buffer } {
  let most = 0;
  for (const one of vector) most = Math.max(most, Math.abs(one));
  const scale = most === 0 ? 0 : 127 / most;
  const bytes = Int8Array.from(vector, (one) => Math.round(one * scale));
  return { bits: Array.from(vector, (one) => (one > 0 ? '1' : '0')).join(''), bytes: Buffer.from(bytes.buffer) };
}

/** How alike two vectors are, -1 to 1: one of them as bytes. */
export function likeness(vector: Float32Array, bytes: Buffer): number {
  const other = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  let [dot, one, two] = [0, 0, 0];
  for (let at = 0; at < vector.length; at += 1) {
    const [a, b] = [vector[at] as number, other[at] ?? 0];
    dot += a * b;
    one += a * a;
    two += b * b;
  }
  return one === 0 || two === 0 ? 0 : dot / Math.sqrt(one * two);
}
