import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { openTranscripts } from './transcripts.testing.ts';
import { toneRecording, toneWords } from './transcripts.tones.testing.ts';

/** Numbers of a voice that stand nowhere by chance. */
const voice = [0.731_264_5, -0.192_837_4, 0.550_119_3];

/** A stand-in of sherpa-onnx that tells voices apart: its vectors are the ones above. */
const standIn = `
class OfflineRecognizer {
  createStream() { return { acceptWaveform() {} }; }
  decode() {}
  getResult() { return { text: 'Hello', tokens: [' Hello'], timestamps: [0.1] }; }
}
class OfflineSpeakerDiarization { process() { return [{ start: 0, end: 5, speaker: 0 }]; } }
class SpeakerEmbeddingExtractor {
  createStream() { return { acceptWaveform() {}, inputFinished() {} }; }
  isReady() { return true; }
  compute() { return Float32Array.from(${JSON.stringify(voice)}); }
}
class Vad {
  constructor() { this.found = []; }
  acceptWaveform() {}
  flush() { this.found.push({ start: 1600, samples: new Float32Array(32000) }); }
  isEmpty() { return this.found.length === 0; }
  front() { return this.found[0]; }
  pop() { this.found.shift(); }
}
module.exports = { OfflineRecognizer, OfflineSpeakerDiarization, SpeakerEmbeddingExtractor, Vad };
`;

test('the vector of a voice stands in no row, file, scratch or log line after a recording was put together', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-voices-'));
  using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
  const own = join(folder, 'node_modules/sherpa-onnx-node');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'index.js'), standIn);
  const models = [
    'base-encoder.onnx',
    'base-decoder.onnx',
    'base-tokens.txt',
    'silero_vad.onnx',
    'segmentation.onnx',
    'embedding.onnx',
  ];
  for (const file of models) writeFileSync(join(folder, file), '');
  const log = new PassThrough();
  const logged = buffer(log);
  let seen: Buffer[] = [];
  {
    await using t = await openTranscripts({
      entries: [{ id: 'own', kind: 'sherpa', model_dir: folder }],
      settings: { SVC_LOG_LEVEL: 'debug' },
      log,
    });
    const soundMs = 16 * 60_000;
    const id = await t.begin();
    await t.finalize(id, { mixed: toneRecording(toneWords({ durationMs: soundMs }), soundMs) });
    const record = await t.over(id);
    assert.deepEqual([record.status, record.utterances[0].text, record.speakers.length], ['ready', 'Hello', 1]);
    seen = await everythingOf(t.base.gateway.kernel);
  }
  log.end();
  seen.push(await logged);
  const asBytes = Buffer.from(Float32Array.from(voice).buffer);
  for (const bytes of seen) {
    for (const number of voice) assert.equal(bytes.includes(String(Math.abs(number)).slice(0, 7)), false);
    assert.equal(bytes.includes(asBytes), false);
  }
});

/** Every row of every table that has anything of a recording, what is packed in them, every blob, and the data dir's scratch. */
async function everythingOf({
  sql,
  blobs,
  dataDir,
}: Awaited<ReturnType<typeof openTranscripts>>['base']['gateway']['kernel']): Promise<Buffer[]> {
  const seen: Buffer[] = [];
  const tables = await sql<{ name: string }[]>`
    select table_schema || '.' || table_name as name from information_schema.tables
    where table_schema in ('transcripts', 'uploads', 'kernel', 'notifications') and table_type = 'BASE TABLE'`;
  assert.ok(tables.length > 10);
  for (const { name } of tables) {
    for (const { row } of await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`)
      seen.push(Buffer.from(row));
  }
  for (const { packed } of await sql<{ packed: Buffer }[]>`
    select result as packed from transcripts.steps where result is not null union all select packed from transcripts.words`)
    seen.push(gunzipSync(packed));
  for (const prefix of ['audio/', 'uploads/'])
    for (const name of await blobs.list(prefix)) {
      const blob = await blobs.get(name);
      if (blob) seen.push(await buffer(blob.body));
    }
  for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) seen.push(readFileSync(join(entry.parentPath, entry.name)));
  return seen;
}
