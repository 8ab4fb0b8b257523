import { toneRecording, toneWords } from '../../apps/server/src/features/transcripts/transcripts.tones.testing.ts';
import { atMost, type Findings, type Row } from '../lib/report.ts';
import type { Studio } from './studio.ts';

/** Seconds that are added to the provider's, for a recording of so many minutes of tones. */
export async function measurePipeline({ recorder, sql }: Studio, minutes: number): Promise<Findings> {
  const durationMs = minutes * 60_000;
  const recording = toneRecording(toneWords({ durationMs, speakers: 3 }), durationMs);
  const id = await recorder.begin();
  const upload = await recorder.upload(recording);
  const began = performance.now();
  const uploads = [{ track: 'mixed', upload_id: upload.id }];
  const { status, body } = await recorder.call('POST', `/v1/transcripts/${id}/finalize`, { duration_ms: 1, uploads });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const finalized = performance.now();
  const record = await recorder.over(id);
  if (record.status !== 'ready') throw new Error(record.error);
  const ended = performance.now();
  const steps = await sql<{ kind: string; s: number; n: number }[]>`
    select kind, extract(epoch from max(finished_at) - min(created_at))::float8 as s, count(*)::int as n
    from transcripts.steps where transcript_id = ${id} and finished_at is not null group by kind order by min(created_at), kind`;
  const what = `${minutes} min`;
  const rows: Row[] = [
    { what: `${what}: finalize`, seconds: (finalized - began) / 1_000 },
    ...steps.map(({ kind, s, n }) => ({ what: `${what}: ${kind}${n > 1 ? ` (${n})` : ''}`, seconds: s })),
    { what: `${what}: from finalize to ready`, seconds: (ended - began) / 1_000 },
  ];
  return { rows, targets: [atMost(`${what} of audio to ready, seconds`, (ended - began) / 1_000, 60)] };
}
