import { createRequire } from 'node:module';
import Pdf from 'pdfkit';
import { estimateWords } from '@svc/speech';
import { bare } from '../../apps/server/src/features/transcripts/transcripts.plans.testing.ts';
import {
  replaceSpeakers,
  replaceUtterances,
  replaceWords,
} from '../../apps/server/src/features/transcripts/text/text.sql.ts';
import { packWords } from '../../apps/server/src/features/transcripts/text/words.ts';
import { threeHours } from '../../packages/insights/src/insights.testing.ts';
import { atMost, type Findings, type Row } from '../lib/report.ts';
import { median } from '../lib/stats.ts';
import type { Studio } from './studio.ts';

const formats = ['md', 'txt', 'srt', 'vtt', 'json', 'pdf', 'docx'] as const;

/** Puts a recording of three hours into the database as the processing leaves it: 5,000 utterances, or the first `most`; answers its id. */
export async function fillThreeHours(
  { sql, accountId, recorder }: Pick<Studio, 'sql' | 'accountId' | 'recorder'>,
  most = Number.POSITIVE_INFINITY,
): Promise<string> {
  const id = await recorder.begin({ title: 'Three hours' });
  const { speakers, ...whole } = threeHours();
  const utterances = whole.utterances.slice(0, most);
  const all = utterances.map(({ seq, speaker, startMs, endMs, text }) => ({
    row: { ...bare, seq, speaker, start_ms: startMs, end_ms: endMs, text },
    heard: {
      seq,
      speaker,
      startMs,
      endMs,
      text,
      track: 'mixed' as const,
      originalText: null,
      confidence: null,
      language: 'en',
      words: estimateWords(text, startMs, endMs).map((word) => ({ ...word, confidence: 0.9, estimated: false })),
    },
  }));
  const words = await packWords(all.map(({ heard }) => heard));
  await sql.begin(async (tx) => {
    const row = { id, account_id: accountId };
    await replaceUtterances(
      tx,
      row,
      all.map((one) => one.row),
    );
    await replaceWords(tx, row, words);
    await replaceSpeakers(
      tx,
      row,
      speakers.map(({ label, name }) => ({ label, name, is_self: false, talk_ms: 1, utterance_count: 1 })),
    );
    await tx`update transcripts.transcripts set state = 'ready', duration_ms = ${utterances.at(-1)?.endMs ?? 0} where id = ${id}`;
  });
  return id;
}

/** Asks for an export; answers its bytes. Throws unless it comes. */
export async function exportOf({ url, platform }: Studio, id: string, format: string): Promise<ArrayBuffer> {
  const headers = { authorization: `Bearer ${platform.key}` };
  const answer = await fetch(`${url}/v1/transcripts/${id}/export?format=${format}`, { headers });
  if (answer.status !== 200) throw new Error(`an export as ${format} was answered with ${answer.status}`);
  return answer.arrayBuffer();
}

/** How long exports of three hours take, beside pdfkit alone that writes the same text. */
export async function measureExports(studio: Studio, id: string, rounds: number): Promise<Findings> {
  const rows: Row[] = [];
  const times = new Map<string, number>();
  for (const format of formats) {
    const taken: number[] = [];
    let bytes = 0;
    for (let round = 0; round <= rounds; round += 1) {
      const began = performance.now();
      bytes = (await exportOf(studio, id, format)).byteLength;
      // The first one starts a worker, or compiles.
      if (round > 0) taken.push(performance.now() - began);
    }
    times.set(format, median(taken));
    rows.push({ what: `3 h as ${format}`, 'p50 ms': median(taken), besides: `${Math.round(bytes / 1_000)} kB` });
  }
  const text = Buffer.from(await exportOf(studio, id, 'txt')).toString();
  const alone: number[] = [];
  let bytes = 0;
  for (let round = 0; round <= rounds; round += 1) {
    const began = performance.now();
    bytes = await barePdf(text);
    if (round > 0) alone.push(performance.now() - began);
  }
  rows.push({
    what: 'pdfkit alone, the same text',
    'p50 ms': median(alone),
    besides: `${Math.round(bytes / 1_000)} kB`,
  });
  const texts = ['md', 'txt', 'srt', 'vtt'].map((format) => times.get(format) ?? Number.NaN);
  return {
    rows,
    targets: [
      atMost('exports as text of 3 h, the slowest, ms', Math.max(...texts), 500),
      atMost('PDF of 3 h : pdfkit alone', (times.get('pdf') ?? Number.NaN) / median(alone), 1.5),
    ],
  };
}

/** The text as pdfkit writes it with the same font and its own wrapping; answers its bytes. */
async function barePdf(text: string): Promise<number> {
  const doc = new Pdf({ size: 'A4', margin: 60 });
  const { promise, resolve } = Promise.withResolvers<void>();
  let bytes = 0;
  doc.on('data', (chunk: Uint8Array) => (bytes += chunk.length)).on('end', resolve);
  doc.font(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf')).fontSize(9.5);
  for (const line of text.split('\n')) doc.text(line);
  doc.end();
  await promise;
  return bytes;
}
