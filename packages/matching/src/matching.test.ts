import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  compare,
  isOverlap,
  mayOverlap,
  normalized,
  overlap,
  sketchOf,
  textHash,
  textPrefix,
  wordCounts,
  wordsOf,
} from './index.ts';

interface Pair {
  kind: string;
  is: 'same' | 'prefix' | 'overlap' | 'none';
  a: string;
  b: string;
}

const pairs = JSON.parse(readFileSync(new URL('../fixtures/pairs.json', import.meta.url), 'utf8')) as Pair[];
const short = (text: string): string => text.slice(0, 80);

describe('which texts are one prompt', () => {
  test('no pair of the list is on the wrong side of the rule, whichever of the two is the prompt', () => {
    assert.ok(pairs.length >= 200);
    for (const { kind, is, a, b } of pairs) {
      assert.equal(compare(a, b) ?? 'none', is, `${kind}: ${short(a)} | ${short(b)}`);
      assert.equal(compare(b, a) ?? 'none', is, `${kind}, the other way: ${short(a)} | ${short(b)}`);
    }
  });

  test('what a database finds by hash and prefix agrees with the comparison', () => {
    for (const { kind, is, a, b } of pairs) {
      assert.equal(textHash(a) === textHash(b), is === 'same', kind);
      const [one, other] = [textPrefix(a), textPrefix(b)];
      if (is !== 'same') assert.equal(one !== undefined && one === other, is === 'prefix', kind);
    }
    assert.equal(textHash(' a \n b\u00a0'), textHash('a b'));
  });

  test('two texts that overlap are never lost by their sketches, and their counts of words fit', () => {
    for (const { is, a, b } of pairs) if (is === 'overlap') assert.ok(isFound(a, b));
    const word = fc.constantFrom(...'a b c dd ee fff the of și ștergere lungă'.split(' '));
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 40 }),
        fc.array(word, { maxLength: 6 }),
        fc.nat(40),
        (text, other, at) => {
          const changed = [...text.slice(0, at), ...other, ...text.slice(at + other.length)];
          const [a, b] = [text.join(' '), changed.join(' ')];
          if (isOverlap(wordsOf(a), wordsOf(b))) assert.ok(isFound(a, b), `${a} | ${b}`);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test('sketches tell texts of 32 kB apart that share three words of five', () => {
    const words = (from: number, count: number) => Array.from({ length: count }, (_, i) => `word${from + i}`).join(' ');
    const common = words(0, 3_000);
    assert.equal(isFound(`${common} ${words(10_000, 2_000)}`, `${common} ${words(20_000, 2_000)}`), false);
    assert.equal(
      isFound(`${common} ${words(10_000, 2_000)}`, `${common} ${words(10_000, 1_400)} ${words(30_000, 600)}`),
      true,
    );
  });

  test('the overlap of two texts is that of their words counted one by one', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd');
    fc.assert(
      fc.property(fc.array(word), fc.array(word), (left, right) => {
        const rest = [...right];
        const shared = left.filter((one) => rest.includes(one) && rest.splice(rest.indexOf(one), 1)).length;
        assert.equal(overlap(wordsOf(left.join(' ')), wordsOf(right.join(' '))), shared);
      }),
    );
  });

  test('a text without a word overlaps with nothing', () => {
    assert.equal(isOverlap(wordsOf('…'), wordsOf('')), false);
    assert.ok(sketchOf(wordsOf('📱')).every((byte) => byte === 0));
    assert.equal(normalized(' \u00a0\n'), '');
  });
});

/** As a database finds one by the other. */
function isFound(a: string, b: string): boolean {
  const [one, other] = [wordsOf(a), wordsOf(b)];
  const { least, most } = wordCounts(one.total);
  const [sketch, others] = [
    { sketch: sketchOf(one), total: one.total },
    { sketch: sketchOf(other), total: other.total },
  ];
  return other.total >= least && other.total <= most && mayOverlap(sketch, others) && mayOverlap(others, sketch);
}
