import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { shared } from '../../testing.shared.ts';
import { ffmpeg } from '../media/media.testing.ts';
import { openTranscripts } from './transcripts.testing.ts';
import { textOf, toneRecording, toneWords } from './transcripts.tones.testing.ts';

/** Two halves of a talk: words that a provider hears by their tones. */
const halfMs = 4_000;
const words = toneWords({ durationMs: 2 * halfMs }).filter(({ startMs }) => startMs % halfMs < halfMs - 400);
const half = (n: number) => words.filter(({ startMs }) => Math.floor(startMs / halfMs) === n);
const saidIn = (...halves: number[]): string => halves.flatMap((n) => half(n).map(({ id }) => textOf(id))).join(' ');
const textIn = ({ utterances }: { utterances: { text: string }[] }): string =>
  utterances.map(({ text }) => text).join(' ');
const lacksOf = ({ degraded }: { degraded: string[] }): string[] =>
  degraded.filter((one) => ['sound', 'tracks'].includes(one));
let folder = '';

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-recorded-'));
  for (const n of [0, 1])
    writeFileSync(
      join(folder, `${n}.wav`),
      toneRecording(
        half(n).map((word) => ({ ...word, startMs: word.startMs - n * halfMs })),
        halfMs,
      ),
    );
});
after(() => rmSync(folder, { recursive: true }));

/** Makes a file of one half. */
function made(n: number, name: string, ...args: string[]): Buffer {
  const file = join(folder, `${n}.${name}`);
  ffmpeg('-i', join(folder, `${n}.wav`), ...args, file);
  return readFileSync(file);
}
/** Both halves as tracks of one file. */
function beside(name: string, ...args: string[]): Buffer {
  const file = join(folder, name);
  ffmpeg('-i', join(folder, '0.wav'), '-i', join(folder, '1.wav'), '-map', '0', '-map', '1', ...args, file);
  return readFileSync(file);
}
const pictures = ['-f', 'lavfi', '-i', 'testsrc=s=64x48:r=10:d=4', '-c:v', 'huffyuv', '-c:a', 'pcm_s16le'];
/** One packet of four seconds: a packet counts to its end. */
const onePacket = ['-ar', '8000', '-frame_size', '65535'];
const languages = ['-metadata:s:a:0', 'language=eng', '-metadata:s:a:1', 'language=fra'];

const recordings = [
  {
    what: 'a recorder that was stopped and started is heard on behind its first recording, to the end of its last packet',
    file: () => Buffer.concat([0, 1].map((n) => made(n, 'mka', '-c:a', 'flac', ...onePacket))),
    more: { duration_ms: 2 * halfMs },
    hears: [0, 1],
    ms: 2 * halfMs,
  },
  {
    what: 'a film in two languages is heard in its own, and the other one is named',
    file: () => beside('two.mkv', '-c:a', 'flac', ...languages),
    hears: [0],
    lacks: ['tracks'],
  },
];

describe('recordings as devices and people send them', () => {
  const t = shared(() => openTranscripts());
  for (const { what, file, more = {}, hears, ms = halfMs, lacks = [] } of recordings)
    test(what, async () => {
      const id = await t.begin();
      const answer = await t.finalize(id, { mixed: file() }, more);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.body.transcript.duration_ms, ms);
      const record = await t.over(id);
      assert.deepEqual([record.status, textIn(record), lacksOf(record)], ['ready', saidIn(...hears), lacks]);
    });

  test('sound beside pictures that nothing here decodes is heard, and what was not sent of it is named, also anew', async () => {
    const id = await t.begin();
    await t.finalize(id, { mixed: made(0, 'avi', ...pictures) }, { duration_ms: 2 * halfMs });
    const first = await t.over(id);
    assert.deepEqual([first.status, textIn(first), lacksOf(first)], ['ready', saidIn(0), ['sound']]);
    assert.equal((await t.call('POST', `/v1/transcripts/${id}/retranscribe`)).status, 200);
    assert.deepEqual(lacksOf(await t.over(id)), ['sound']);
  });

  test('of two tracks the one that ends early is named, however whole the other is', async () => {
    const whole = Buffer.concat([0, 1].map((n) => made(n, 'mka', '-c:a', 'flac', ...onePacket)));
    const half = made(0, 'mka', '-c:a', 'flac', ...onePacket);
    for (const [mic, system, lacks] of [
      [whole, half, ['sound']],
      [half, whole, ['sound']],
      [whole, whole, []],
    ] as const) {
      const id = await t.begin();
      await t.finalize(id, { mic, system }, { duration_ms: 2 * halfMs });
      const record = await t.over(id);
      assert.deepEqual([record.status, lacksOf(record)], ['ready', lacks]);
    }
  });

  test('Windows Media is refused with what to do', async () => {
    const id = await t.begin();
    const { status, body } = await t.finalize(id, { mixed: made(0, 'wma') });
    assert.equal(status, 400);
    assert.match(body.error.message, /Windows Media.*convert the file to/);
  });
});
