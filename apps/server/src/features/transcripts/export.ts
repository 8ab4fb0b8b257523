import { Readable } from 'node:stream';
import { contract } from '@svc/contract';
import { contentDisposition, toMarkdown, toText, type TranscriptDocument } from '@svc/documents';
import { ApiError } from '../../kernel/base/errors.ts';
import { Answer, type Operation, operation } from '../../kernel/feature.ts';
import { writeAct } from '../../kernel/records/audit.ts';
import type { Context } from '../../kernel/http/context.ts';
import type { TranscriptPool } from './work/pool.ts';
import type { TranscriptRow } from './transcripts.rows.ts';
import type { Transcripts } from './transcripts.store.ts';
import { speakersOf, utterancesOf, wordsOfMinutes } from './text/text.sql.ts';
import { languageOfRow, titleOf } from './transcripts.view.ts';

const types = {
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  json: 'application/json; charset=utf-8',
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
} as const;
type Format = keyof typeof types;

const exportOperation = (transcripts: Transcripts, pool: TranscriptPool): Operation =>
  operation(contract.transcripts.export, async (context, { params, query }) => {
    const { accountId } = context.actor;
    const row = await transcripts.get(context.db, accountId, params.id);
    const { format } = query;
    const bytes = Buffer.from(await write(context, { transcripts, pool }, row, format));
    const act = { accountId, by: context.by, action: 'transcripts.export', subject: row.id, details: { format } };
    await context.transaction((tx) => writeAct(tx, act));
    return new Answer(Readable.from([bytes], { objectMode: false }), {
      headers: {
        'content-type': types[format],
        'content-length': String(bytes.length),
        'content-disposition': contentDisposition(titleOf(row), format),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
    });
  });
export { exportOperation as export };

/** The transcript in a format. Throws 409 when nothing was heard. */
async function write(
  context: Context,
  { transcripts, pool }: { transcripts: Transcripts; pool: TranscriptPool },
  row: TranscriptRow,
  format: Format,
): Promise<string | Uint8Array> {
  const { signal } = context;
  if (format === 'json') {
    const transcript = await transcripts.whole(context.db, row);
    const words = await wordsOfMinutes(context.db, row.id);
    return pool.do(row.account_id, { kind: format, transcript, words }, signal);
  }
  const document = await documentOf(context, row);
  if (document.utterances.length === 0)
    throw new ApiError('nothing_heard', 'there is nothing to export: no word of this recording was heard');
  if (format === 'md') return toMarkdown(document);
  if (format === 'txt') return toText(document);
  if (format === 'pdf' || format === 'docx') return pool.do(row.account_id, { kind: format, document }, signal);
  const words = await wordsOfMinutes(context.db, row.id);
  const utterances = (await utterancesOf(context.db, row.id)).map(
    ({ seq, speaker, start_ms: startMs, end_ms: endMs, text, edited_at: edited }) => {
      return { seq, speaker, startMs, endMs, text, isEdited: edited !== null };
    },
  );
  const names = new Map(document.speakers.map(({ label, name }) => [label, name ?? label]));
  return pool.do(row.account_id, { kind: format, subtitled: { utterances, words, names } }, signal);
}

/** A transcript as documents have it: the owner's exports hold all of its insights. */
async function documentOf({ db }: Pick<Context, 'db'>, row: TranscriptRow): Promise<TranscriptDocument> {
  const [speakers, utterances] = await Promise.all([speakersOf(db, [row.id]), utterancesOf(db, row.id)]);
  const { insights } = row;
  return {
    title: titleOf(row),
    startedAt: new Date(row.started_at),
    durationMs: row.duration_ms ?? 0,
    language: languageOfRow(row),
    consent: row.consent,
    speakers: speakers.map(({ label, name }) => ({ label, name })),
    utterances: utterances.map(({ speaker, start_ms: startMs, end_ms: endMs, text }) => ({
      speaker,
      startMs,
      endMs,
      text,
    })),
    insights: insights && {
      summary: insights.summary,
      keyPoints: insights.key_points.map(({ text, citations }) => ({ text, atMs: citations[0]?.start_ms ?? null })),
      actions: insights.actions.map(({ text, owner, due }) => ({ text, owner, due })),
      decisions: insights.decisions.map(({ text }) => text),
      openQuestions: insights.open_questions.map(({ text }) => text),
    },
  };
}
