import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentOfFile, headAndTail, jsonFor } from './mcp.answers.ts';

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

  test('is JSON whatever is left out: of long texts the middle, of the longest list too', () => {
    const said = JSON.parse(jsonFor({ stdout: 'x'.repeat(1_000_000), exit_code: 0 }, 'look there')) as {
      stdout: string;
    };
    assert.ok(said.stdout.length < 25_000);
    assert.match(said.stdout, /x\n\[975424 characters are left out here: look there\]\nx/);

    const utterances = Array.from({ length: 5_000 }, (_, seq) => ({ seq, text: 'w'.repeat(50) }));
    const json = jsonFor({ id: 'one', tags: ['a'], utterances }, 'search');
    assert.ok(json.length <= 65_536);
    const { utterances: kept } = JSON.parse(json) as {
      utterances: { seq?: number; left_out?: number; see?: string }[];
    };
    const at = kept.findIndex((one) => one.left_out !== undefined);
    assert.deepEqual([kept[0]?.seq, kept.at(-1)?.seq], [0, 4_999]);
    assert.deepEqual([kept[at]?.left_out, kept[at]?.see], [5_000 - (kept.length - 1), 'search']);
    assert.equal(kept[at + 1]?.seq, (kept[at - 1]?.seq ?? 0) + 1 + (kept[at]?.left_out ?? 0));
  });

  test('is bounded whatever it is made of', () => {
    const deep = { a: { b: Array.from({ length: 100_000 }, (_, n) => n) } };
    for (const answer of [
      deep,
      Array.from({ length: 100_000 }, (_, n) => n),
      { list: ['y'.repeat(24_000), 'y'.repeat(24_000), 'y'.repeat(24_000)] },
    ])
      assert.ok(jsonFor(answer, 'there').length < 66_000);
  });

  test('has a picture as a picture, a text as it is, and anything else in base64', () => {
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB', 'base64');
    assert.deepEqual(contentOfFile('a.txt', png), [
      { type: 'image', data: png.toString('base64'), mimeType: 'image/png' },
    ]);
    assert.deepEqual(contentOfFile('a.png', Buffer.from('ș')), [{ type: 'text', text: 'ș' }]);
    const [other] = contentOfFile('a', Buffer.from([0xff, 0]));
    assert.deepEqual(other, { type: 'text', text: '{"path":"a","bytes":2,"content_base64":"/wA="}' });
  });
});
