import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAccount, until } from '../../testing.ts';
import { hearsTones, openTranscripts, Recorder, type TranscriptsTest } from './transcripts.testing.ts';
import { hearTones, textOf, toneRecording, toneWords } from './transcripts.tones.testing.ts';

describe('the processing of a recording', () => {
  let all: TranscriptsTest;
  before(async () => {
    all = await openTranscripts();
  });
  after(() => all?.[Symbol.asyncDispose]());

  test('hears every word once, in order, at its time, and knows speakers again over windows', async () => {
    const t = await all.fresh();
    // Three windows: half an hour of sound is nearly all that this file costs.
    const durationMs = 29.5 * 60_000;
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
    const t = await all.fresh();
    const durationMs = 15.5 * 60_000;
    // The third speaks early in the first window and late in the second one only.
    const isThird = (ms: number): boolean => [2, 13].includes(Math.floor(ms / 60_000));
    const words = toneWords({ durationMs, speakers: 2 }).map((word, n) =>
      isThird(word.startMs) && n % 3 < 2 ? { ...word, speaker: 2 } : word,
    );
    const id = await t.begin();
    assert.equal((await t.finalize(id, { mixed: toneRecording(words, durationMs) })).status, 200);
    const record = await t.over(id, 300_000);
    assert.equal(record.status, 'ready', JSON.stringify(record.error));
    assert.equal(t.asked.length, 3, 'two windows, and the clips');
    assert.equal(record.speakers.length, 3);
    const said = record.utterances.flatMap(
      ({ words: own, speaker }: { words: { start_ms: number }[]; speaker: string }) => own.map(() => speaker),
    );
    const labels = new Set(words.map(({ speaker }, n) => `${speaker} ${said[n]}`));
    assert.equal(labels.size, 3, 'one label for each speaker');
    const costs = await t.base.gateway.kernel.sql<{ cost: number }[]>`
      select cost_micro_usd::int as cost from kernel.usage_records where route = 'transcripts.transcribe' and trace_id = ${id} order by cost`;
    assert.equal(costs.length, 3);
    assert.ok((costs[0]?.cost ?? 0) > 0, 'the clips');
    const [row] = await t.base.gateway.kernel.sql<{ cost: number }[]>`
      select cost_micro_usd::int as cost from transcripts.transcripts where id = ${id}`;
    assert.equal(
      row?.cost,
      costs.reduce((sum, { cost }) => sum + cost, 0),
    );
  });

  test('of many recordings of one account holds up no recording of another', async () => {
    const soundMs = 2_000;
    const words = toneWords({ durationMs: soundMs });
    const others = words.map((word) => ({ ...word, id: (word.id + 2_000) % 4_096 }));
    const isOver = Promise.withResolvers<void>();
    const asked: (string | undefined)[] = [];
    const first = textOf(words[0]?.id ?? -1);
    const mine = await all.fresh(async (response, got) => {
      const [word] = hearTones(got.audio as Buffer);
      asked.push(word?.text);
      if (word?.text === first) await isOver.promise;
      await hearsTones(response, got);
    });
    const theirs = new Recorder(mine.gateway, await createAccount(mine.base.gateway));
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const id = await mine.begin();
      assert.equal((await mine.finalize(id, { mic: toneRecording(words, soundMs) })).status, 200);
      ids.push(id);
    }
    // As many as an account may have under way.
    await until(() => asked.length === 4);
    const id = await theirs.begin();
    assert.equal((await theirs.finalize(id, { mic: toneRecording(others, soundMs) })).status, 200);
    assert.equal((await theirs.over(id)).status, 'ready');
    assert.deepEqual(asked, [first, first, first, first, textOf(others[0]?.id ?? -1)]);
    isOver.resolve();
    for (const own of ids) assert.equal((await mine.over(own)).status, 'ready');
    assert.equal(asked.length, 7);
  });
});
