import { contract } from '@svc/contract';
import type { Actor } from '../../kernel/base/actor.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import { checkCaller } from '../../kernel/mount/access.ts';
import { checkTranscripts } from '../uploads/index.ts';
import { findText } from './analysis/find.ts';
import { showPassages } from './analysis/search.sql.ts';
import { speakersOf, utterancesOf } from './text/text.sql.ts';
import { listTranscripts } from './transcripts.sql.ts';
import type { Transcripts } from './transcripts.store.ts';
import { titleOf } from './transcripts.view.ts';

/** Recordings of a list, newest first. */
const mostListed = 50;
const mostFound = 20;
/** Characters of one recording: about an hour of speech. */
const mostChars = 60_000;

/** Recordings as a model reads them that works for a key: as text, with that key's rights. */
export class TranscriptsReader {
  readonly #sql: Kernel['sql'];
  readonly #transcripts: Transcripts;

  constructor({ sql }: Pick<Kernel, 'sql'>, transcripts: Transcripts) {
    this.#sql = sql;
    this.#transcripts = transcripts;
  }

  /** Recordings that began at `from` or later, newest first. Throws 403 without the scope, 404 when transcripts are off. */
  async list(actor: Actor, { from }: { from?: string | undefined }): Promise<string> {
    check(actor);
    const rows = await listTranscripts(this.#sql, actor.accountId, { from }, { limit: mostListed });
    const lines = rows.slice(0, mostListed).map((row) => {
      const minutes = Math.round((row.duration_ms ?? 0) / 60_000);
      return `${row.id} ${row.started_at} ${minutes} min, ${row.state}: ${titleOf(row)}`;
    });
    return lines.length === 0 ? 'no recordings' : lines.join('\n');
  }

  /** One recording: its insights, then what was said. Throws 404 for one of another account. */
  async get(actor: Actor, id: string): Promise<string> {
    check(actor);
    const row = await this.#transcripts.get(this.#sql, actor.accountId, id);
    const [speakers, utterances] = await Promise.all([speakersOf(this.#sql, [id]), utterancesOf(this.#sql, id)]);
    const names = new Map(speakers.map(({ label, name }) => [label, name ?? label]));
    const { insights } = row;
    const parts = [
      `${titleOf(row)}, ${row.started_at}`,
      ...(insights ? [`summary: ${insights.summary}`] : []),
      ...(insights?.decisions ?? []).map(({ text }) => `decision: ${text}`),
      ...(insights?.actions ?? []).map(({ text, owner, due }) => `action: ${text} (${owner ?? '?'}, ${due ?? '?'})`),
      ...(insights?.open_questions ?? []).map(({ text }) => `open question: ${text}`),
      ...utterances.map(({ speaker, text }) => `${names.get(speaker) ?? speaker}: ${text}`),
    ];
    const whole = parts.join('\n');
    return whole.length <= mostChars
      ? whole
      : `${whole.slice(0, mostChars).toWellFormed()}\n(cut: the rest is left out)`;
  }

  /** Utterances that have words of a question, with their recording. */
  async search(actor: Actor, q: string): Promise<string> {
    check(actor);
    const hits = await findText(this.#sql, actor.accountId, { q, scope: {} });
    const places = hits
      .slice(0, mostFound)
      .map(({ transcript_id, seq, to_seq }) => ({ transcript_id, from_seq: seq, to_seq }));
    const rows = await showPassages(this.#sql, actor.accountId, places);
    const lines = rows.map(
      (row) =>
        `${row.transcript_id} ${row.started_at} ${row.title ?? row.insights_title ?? ''} | ${row.speaker_name ?? row.speaker}: ${row.text}`,
    );
    return lines.length === 0 ? 'nothing was found' : lines.join('\n');
  }
}

const check = (actor: Actor): void =>
  checkCaller({ name: 'transcripts', gate: checkTranscripts }, contract.transcripts.list, actor);
