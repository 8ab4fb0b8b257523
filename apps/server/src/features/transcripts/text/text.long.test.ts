import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { shared } from '../../../testing.shared.ts';
import { http, openTest } from '../../../testing.ts';
import { packWords } from './words.ts';

const [count, wordsOfOne, lengthMs] = [1_000, 25, 2_700];

describe('a recording of 25,000 words', () => {
  const { gateway, account } = shared(() => openTest());
  let id: string;
  const call = (path: string, init: object = {}) =>
    http(gateway.url, `/v1/transcripts/${path}`, { key: account.key, ...init });

  before(async () => {
    const { sql } = gateway.kernel;
    id = (await http(gateway.url, '/v1/transcripts', { key: account.key, body: { title: 'Long' } })).body.transcript.id;
    await sql`
      insert into transcripts.utterances (transcript_id, seq, account_id, speaker, track, start_ms, end_ms, text, words)
      select ${id}, n, ${account.id}, 'S1', 'mixed', n * ${lengthMs}::int, (n + 1) * ${lengthMs}::int, 'said', ''
      from generate_series(0, ${count - 1}::int) n`;
    const said = Array.from({ length: count }, (_, seq) => ({
      seq,
      speaker: 'S1',
      track: 'mixed' as const,
      startMs: seq * lengthMs,
      endMs: (seq + 1) * lengthMs,
      text: 'said',
      confidence: null,
      language: null,
      words: Array.from({ length: wordsOfOne }, (_word, n) => {
        const startMs = seq * lengthMs + n * 100;
        return { text: `w${n}`, startMs, endMs: startMs + 90, confidence: 0.5, estimated: false };
      }),
    }));
    for (const { minute, packed } of await packWords(said as never))
      await sql`insert into transcripts.words (transcript_id, account_id, minute, packed) values (${id}, ${account.id}, ${minute}, ${packed})`;
    await sql`update transcripts.transcripts set bytes = 1000000 where id = ${id}`;
  });

  test('is answered whole, word by word, to several that ask at once', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => call(id)));
    for (const { status, headers, body } of answers) {
      const { utterances } = body.transcript;
      assert.deepEqual([status, utterances.length, utterances[999].words.length], [200, count, wordsOfOne]);
      assert.deepEqual(utterances[0].words[1], { text: 'w1', start_ms: 100, end_ms: 190, confidence: 0.5 });
      assert.equal(Number(headers.get('content-length')), Buffer.byteLength(JSON.stringify(body)));
    }
    const head = await fetch(`${gateway.url}/v1/transcripts/${id}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${account.key}` },
    });
    assert.equal(head.headers.get('content-length'), answers[0]?.headers.get('content-length'));
  });

  test('is made for one request of its account after another: the others wait and hold no rows', async () => {
    const { long } = gateway.app.http;
    const asked = [1, 2, 3, 4].map(() => call(id));
    let most = 0;
    let isOver = false;
    const look = (): void => {
      most = Math.max(most, long.open().taken.get(account.id) ?? 0);
      if (!isOver) setImmediate(look);
    };
    look();
    await Promise.all(asked);
    isOver = true;
    assert.deepEqual([most, long.open().taken.size], [1, 0]);
  });

  test('has its words in pages of at most 20,000, each word once', async () => {
    const sizes: number[] = [];
    const seqs: number[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await call(`${id}/words?to_ms=${count * lengthMs}${cursor && `&cursor=${cursor}`}`);
      sizes.push(body.utterances.reduce((sum: number, { words }: { words: object[] }) => sum + words.length, 0));
      seqs.push(...body.utterances.map(({ seq }: { seq: number }) => seq));
      if (body.next_cursor === undefined) break;
      cursor = body.next_cursor;
    }
    assert.deepEqual(seqs, [...Array(count).keys()]);
    assert.deepEqual([sizes.length, sizes.reduce((a, b) => a + b), Math.max(...sizes) <= 20_000], [2, 25_000, true]);
    assert.equal((await call(`${id}/words?cursor=x`)).status, 400);
  });

  test('is answered without its words when its title is changed', async () => {
    const { status, body } = await call(id, { method: 'PATCH', body: { title: 'Longer' } });
    const { title, utterances } = body.transcript;
    assert.deepEqual([status, title, utterances.length, 'words' in utterances[0]], [200, 'Longer', count, false]);
  });
});
