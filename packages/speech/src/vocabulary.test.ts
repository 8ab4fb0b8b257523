import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ofWords, wordsFrom } from './assemble.testing.ts';
import { distance } from './distance.ts';
import type { VocabularyEntry } from './index.ts';

const corrected = (text: string, vocabulary: VocabularyEntry[]) => {
  const [utterance] = ofWords(wordsFrom(0, text.split(' '), 200, 50), { vocabulary }).utterances;
  return { text: utterance?.text, originalText: utterance?.originalText, words: utterance?.words };
};
const textOf = (text: string, ...terms: (string | VocabularyEntry)[]) =>
  corrected(
    text,
    terms.map((term) => (typeof term === 'string' ? { term } : term)),
  ).text;

describe('the vocabulary', () => {
  test('puts a term in the place of what spells like it, and keeps what was heard', () => {
    const { text, originalText, words } = corrected('we run kubernetis on it', [{ term: 'Kubernetes' }]);
    assert.equal(text, 'we run Kubernetes on it');
    assert.equal(originalText, 'we run kubernetis on it');
    assert.deepEqual(words?.map((word) => word.text).join(' '), text);
    assert.equal(corrected('we run Kubernetes on it', [{ term: 'Kubernetes' }]).originalText, null);
  });

  test('joins up to four words that a term was heard as, at their time', () => {
    const { text, words } = corrected('the cuber netes cluster', [
      { term: 'Kubernetes', sounds_like: ['cuber netes'] },
    ]);
    assert.equal(text, 'the Kubernetes cluster');
    assert.deepEqual(
      words?.map(({ startMs, endMs }) => [startMs, endMs]),
      [
        [0, 200],
        [250, 700],
        [750, 950],
      ],
    );
    assert.equal(
      textOf('a post gray sequel base', { term: 'PostgreSQL', sounds_like: ['post gray sequel'] }),
      'a PostgreSQL base',
    );
    const long = { term: 'Max Planck Institute', sounds_like: ['max plank institute'] };
    assert.equal(textOf('at the max plank institute today', long), 'at the Max Planck Institute today');
    assert.equal(
      textOf('we use sven tools', { term: 'Svelte Native Tools', sounds_like: ['sven tools'] }),
      'we use Svelte Native Tools',
    );
  });

  test("keeps punctuation and endings around, and has the term's own letters", () => {
    assert.equal(textOf('"kubernetis," he said', 'Kubernetes'), '"Kubernetes," he said');
    assert.equal(textOf("kubernetis's pods", 'Kubernetes'), "Kubernetes's pods");
    assert.equal(textOf('am vorbit cu stefan.', 'Ștefan'), 'am vorbit cu Ștefan.');
    assert.equal(textOf('în google-ul nostru', 'Google'), 'în Google-ul nostru');
    assert.equal(textOf("at mcdonald's", "McDonald's"), "at McDonald's");
    assert.equal(textOf('Kubectl is there', 'kubectl'), 'Kubectl is there');
  });

  test('is careful: short words, everyday words, forms of a term and other entries stay', () => {
    assert.equal(textOf('the house and the mouse', 'Hause', 'Mousse'), 'the house and the mouse');
    assert.equal(textOf('go there and may be', 'Go', 'May'), 'go there and may be');
    assert.equal(textOf('mașina Clujului e la Postgresului', 'Cluj', 'Postgres'), 'mașina Clujului e la Postgresului');
    assert.equal(textOf('Marina and Marine', 'Marina', 'Marine'), 'Marina and Marine');
    assert.equal(textOf('informatics and information', 'Informatica'), 'Informatica and information');
    assert.equal(textOf('I said, kubernetis', { term: 'Saidkubernetes' }), 'I said, kubernetis');
  });

  test('takes the closest of several, and no word beside it', () => {
    assert.equal(textOf('a kubernetis', 'Kubernetes', 'Akubernete'), 'a Kubernetes');
  });

  test('applies an entry to its language only', () => {
    const entry = { term: 'Kubernetes', language: 'ro' };
    assert.equal(
      textOf('so what do you think about the kubernetis thing', entry),
      'so what do you think about the kubernetis thing',
    );
    assert.equal(textOf('deci ce facem cu kubernetis și cu asta', entry), 'deci ce facem cu Kubernetes și cu asta');
  });

  test('makes no utterance longer than 4,000 characters', () => {
    const words = wordsFrom(
      0,
      Array.from({ length: 300 }, () => 'zq'),
      10,
      1,
    );
    const { utterances } = ofWords(words, { vocabulary: [{ term: 'Zettaquantum Corporation', sounds_like: ['zq'] }] });
    for (const { text } of utterances) assert.ok(text.length <= 4_000);
    assert.ok(utterances[0]?.text.startsWith('Zettaquantum Corporation Zettaquantum'));
  });

  test('of 1,000 entries goes over 30,000 words without comparing each with each', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    const made = (seed: number): string =>
      Array.from({ length: 5 + (seed % 9) }, (_, n) => letters[(seed * 31 + n * n * 7 + n * seed) % 26]).join('');
    const vocabulary = Array.from({ length: 1_000 }, (_, n) => ({
      term: `T${made(n)}`,
      sounds_like: [made(n + 5_000)],
    }));
    const words = wordsFrom(
      0,
      Array.from({ length: 30_000 }, (_, n) => made(n * 3)),
      200,
      50,
    );
    assert.equal(ofWords(words, { durationMs: 10_000_000, vocabulary }).utterances.length > 0, true);
  });
});

describe('the distance', () => {
  test('counts letters that are put in, left out, changed or swapped, and says no more than that it is too far', () => {
    assert.equal(distance('kubernetes', 'kubernetis', 2), 1);
    assert.equal(distance('kubernetes', 'kubenretes', 2), 1);
    assert.equal(distance('abcdef', 'abef', 2), 2);
    assert.equal(distance('abcdef', 'ghijkl', 2), 3);
  });

  test('is what the whole table says', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 });
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 4 }), (a, b, most) => {
        assert.equal(distance(a, b, most), Math.min(most + 1, whole(a, b)));
      }),
      { numRuns: 3_000 },
    );
  });
});

function whole(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : i)),
  );
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const at = (k: number, l: number): number => rows[k]?.[l] ?? 0;
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(i - 2, j - 2) + 1);
      (rows[i] as number[])[j] = best;
    }
  }
  return rows[a.length]?.[b.length] ?? 0;
}
