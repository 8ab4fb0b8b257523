import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentOfFile, headAndTail, jsonFor, partOf } from './mcp.answers.ts';

describe('an answer to a model', () => {
  test('leaves the middle of a long text out, and says how much that is and where it is', () => {
    assert.equal(headAndTail('short', 'there', 10), 'short');
    const text = `${'a'.repeat(700)}${'b'.repeat(5_000)}${'c'.repeat(300)}`;
    assert.equal(
      headAndTail(text, 'look there', 1_000),
      `${'a'.repeat(700)}\n[5000 characters are left out here: look there]\n${'c'.repeat(300)}`,
    );
    // No half of a character.
    assert.ok(headAndTail('😀'.repeat(2_000), 'there', 1_001).isWellFormed());
  });

  test('shares its room between long texts, however JSON writes them, and leaves short things as they are', () => {
    const both = { stdout: '\u001b'.repeat(500_000), stderr: 'x'.repeat(500_000), outputs: [{ path: 'out/a' }] };
    const json = jsonFor(both, 'look there');
    const said = JSON.parse(json) as typeof both;
    assert.ok(json.length <= 65_536 && json.length > 40_000, String(json.length));
    assert.deepEqual(said.outputs, both.outputs);
    assert.match(said.stderr, /^x+\n\[\d+ characters are left out here: look there\]\nx+$/);
    const shares = [said.stdout, said.stderr].map((text) => JSON.stringify(text).length);
    assert.ok(
      shares.every((share) => share > 20_000),
      String(shares),
    );
    const prompt = { id: 'one', text: 'p'.repeat(30_000) };
    assert.deepEqual(JSON.parse(jsonFor(prompt, 'there')), prompt);
  });

  test('leaves the middle of its longest list out, at whatever depth', () => {
    const utterances = Array.from({ length: 5_000 }, (_, seq) => ({ seq, text: 'w'.repeat(50) }));
    const json = jsonFor({ transcript: { id: 'one', tags: ['a', 'b', 'c'], utterances } }, 'search');
    assert.ok(json.length <= 65_536);
    const { transcript } = JSON.parse(json) as {
      transcript: { tags: string[]; utterances: { seq?: number; left_out?: number; see?: string }[] };
    };
    const kept = transcript.utterances;
    const at = kept.findIndex((one) => one.left_out !== undefined);
    assert.deepEqual([transcript.tags, kept[0]?.seq, kept.at(-1)?.seq], [['a', 'b', 'c'], 0, 4_999]);
    assert.deepEqual([kept[at]?.left_out, kept[at]?.see], [5_000 - (kept.length - 1), 'search']);
    assert.equal(kept[at + 1]?.seq, (kept[at - 1]?.seq ?? 0) + 1 + (kept[at]?.left_out ?? 0));
  });

  test('is JSON within its bound whatever it is made of', () => {
    const numbers = Array.from({ length: 100_000 }, (_, n) => n);
    const names = Object.fromEntries(numbers.map((n) => [`name ${n}`, n]));
    const quotes = { list: Array.from({ length: 40 }, () => '"'.repeat(24_000)) };
    for (const answer of [
      { a: { b: numbers } },
      numbers,
      names,
      quotes,
      { one: { list: numbers }, two: [[numbers]] },
    ]) {
      const json = jsonFor(answer, 'there');
      assert.ok(json.length <= 65_536, `${json.length} ${json.slice(0, 100)}`);
      JSON.parse(json);
    }
  });

  test('has a text a part after the other', () => {
    const text = Array.from({ length: 20_000 }, (_, n) => `line ${n}`).join('\n');
    let [read, offset] = ['', 0];
    for (let parts = 0; ; parts += 1) {
      const part = partOf(text, offset);
      const [, next] = /\n\[there is more: ask again with offset (\d+), of \d+\]$/.exec(part) ?? [];
      read += part.replace(/\n\[there is more[^\]]*\]$/, '');
      if (next === undefined) break;
      assert.ok(parts < 10);
      offset = Number(next);
    }
    assert.equal(read, text);
  });

  test('has a picture as a picture, a text as it is, and anything else in base64', () => {
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB', 'base64');
    assert.deepEqual(contentOfFile('a.txt', png), [
      { type: 'image', data: png.toString('base64'), mimeType: 'image/png' },
    ]);
    for (const text of ['ș', 'GIF89a is a format'])
      assert.deepEqual(contentOfFile('a.png', Buffer.from(text)), [{ type: 'text', text }]);
    const [other] = contentOfFile('a', Buffer.from([0xff, 0]));
    assert.deepEqual(other, { type: 'text', text: '{"path":"a","bytes":2,"content_base64":"/wA="}' });
  });
});
