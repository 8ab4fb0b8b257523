import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTranscripts } from './transcripts.testing.ts';
import { textOf, toneRecording, toneWords } from './transcripts.tones.testing.ts';

describe('the processing of a recording', () => {
  test('hears every word once, in order, at its time, and knows speakers again over windows', async () => {
    await using t = await openTranscripts();
    const durationMs = 35 * 60_000;
    const words = toneWords({ durationMs, speakers: 3 });
    const id = await t.begin({ title: 'Tones' });
    assert.equal((await t.finalize(id, { mixed: toneRecording(words, durationMs) })).status, 200);
    const record = await t.over(id, 300_000);
    assert.equal(record.status, 'ready', JSON.stringify(record.error));
    assert.equal(t.asked.length, 3);
    const heard = record.utterances.flatMap(
      ({ words: own, speaker }: { words: { text: string; start_ms: number }[]; speaker: string }) =>
        own.map((word) => ({ ...word, speaker })),
    );
    assert.deepEqual(
      heard.map(({ text }: { text: string }) => text),
      words.map(({ id: word }) => textOf(word)),
    );
    for (const [n, { start_ms: startMs }] of heard.entries())
      assert.ok(Math.abs(startMs - (words[n]?.startMs ?? 0)) <= 50, `${n}: ${startMs}`);
    assert.equal(record.speakers.length, 3);
    const labels = new Map(words.map(({ speaker }, n) => [`${speaker} ${heard[n].speaker}`, true]));
    assert.equal(labels.size, 3, 'one label for each speaker');
    assert.equal(record.duration_ms, durationMs);
    const { body: usage } = await t.call('GET', '/v1/transcripts/usage');
    assert.deepEqual([usage.used_ms, usage.reserved_ms, usage.recordings], [durationMs, 0, 1]);
  });

  test('knows a speaker again who was silent at every cut, by clips that cost what they are long', async () => {
    await using t = await openTranscripts();
    const durationMs = 35 * 60_000;
    // The third speaks in the first window and in the last one only.
    const isThird = (ms: number): boolean => [2, 3, 31, 32].includes(Math.floor(ms / 60_000));
    const words = toneWords({ durationMs, speakers: 2 }).map((word, n) =>
      isThird(word.startMs) && n % 3 < 2 ? { ...word, speaker: 2 } : word,
    );
    const id = await t.begin();
    assert.equal((await t.finalize(id, { mixed: toneRecording(words, durationMs) })).status, 200);
    const record = await t.over(id, 300_000);
    assert.equal(record.status, 'ready', JSON.stringify(record.error));
    assert.equal(t.asked.length, 4, 'three windows, and the clips');
    assert.equal(record.speakers.length, 3);
    const said = record.utterances.flatMap(
      ({ words: own, speaker }: { words: { start_ms: number }[]; speaker: string }) => own.map(() => speaker),
    );
    const labels = new Set(words.map(({ speaker }, n) => `${speaker} ${said[n]}`));
    assert.equal(labels.size, 3, 'one label for each speaker');
    const costs = await t.base.gateway.kernel.sql<{ cost: number }[]>`
      select cost_micro_usd::int as cost from kernel.usage_records where route = 'transcripts.transcribe' order by cost`;
    assert.equal(costs.length, 4);
    assert.ok((costs[0]?.cost ?? 0) > 0, 'the clips');
    const [row] = await t.base.gateway.kernel.sql<{ cost: number }[]>`
      select cost_micro_usd::int as cost from transcripts.transcripts where id = ${id}`;
    assert.equal(
      row?.cost,
      costs.reduce((sum, { cost }) => sum + cost, 0),
    );
  });
});
