import { randomUUID } from 'node:crypto';
import { http, type TestAccount, type TestGateway } from '../../testing.ts';

/** Puts a row into every table of transcripts, and audio into the store, as a recording and its owner leave them. */
export async function fillTranscripts({ url, kernel }: TestGateway, { id: account, key }: TestAccount): Promise<void> {
  const { sql, blobs } = kernel;
  const { body } = await http(url, '/v1/transcripts', { key, body: { title: 'Mine' } });
  const { id } = body.transcript;
  await http(url, '/v1/transcript-folders', { key, body: { name: 'Mine' } });
  await http(url, `/v1/transcripts/${id}/bookmarks`, { key, body: { at_ms: 1 } });
  await http(url, `/v1/transcripts/${id}/shares`, { key, body: {} });
  await http(url, `/v1/transcripts/${id}/live`, { key, body: { partial: 'x' } });
  await http(url, '/v1/transcript-vocabulary', { method: 'PUT', key, body: { entries: [{ term: 'Mine' }] } });
  await sql`insert into transcripts.tracks (transcript_id, account_id, track, upload_id, bytes, content_type, duration_ms)
    values (${id}, ${account}, 'mic', ${randomUUID()}, 5, 'audio/wav', 1)`;
  await sql`insert into transcripts.steps (transcript_id, account_id, generation, kind, state, due_at, created_at)
    values (${id}, ${account}, 0, 'window', 'done', now(), now())`;
  await sql`insert into transcripts.utterances (transcript_id, seq, account_id, speaker, track, start_ms, end_ms, text, words)
    values (${id}, 0, ${account}, 'S1', 'mic', 0, 1, 'x', '')`;
  await sql`insert into transcripts.words values (${id}, ${account}, 0, '')`;
  await sql`insert into transcripts.speakers (transcript_id, account_id, label) values (${id}, ${account}, 'S1')`;
  await sql`insert into transcripts.names values (${id}, ${account}, 'ana', '{0}')`;
  await sql`insert into transcripts.charges values (${id}, ${account}, 1, now(), now())`;
  await sql`insert into transcripts.vectors values (${id}, ${account}, 0, 0, 'm', B'1', '')`;
  await blobs.put(`audio/${account}/${id}/mic`, Buffer.from('audio'));
}
