import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { indexPage, standsOn, verifySnippet } from './index.ts';

interface Pair {
  readonly id: string;
  readonly class: string;
  readonly page: string;
  readonly snippet: string;
  readonly label: boolean;
}

const fixtures = new URL('../fixtures/', import.meta.url);
const pairs = JSON.parse(readFileSync(new URL('pairs.json', fixtures), 'utf8')) as Pair[];
const textOf = (page: string): string => readFileSync(new URL(`pages/${page}.txt`, fixtures), 'utf8');

describe('the labelled pairs', () => {
  const judged = pairs.map((pair) => ({
    ...pair,
    answer: verifySnippet(indexPage(textOf(pair.page)), pair.snippet)?.text,
  }));
  const ids = (some: readonly Pair[]): string[] => some.map(({ id }) => id);
  const negation = /\b(?:not|no|never|nor|without|nothing|unless|cannot|nu|nici|fără|niciodată)\b|n['’]t\b/giu;
  const negations = (text: string): number => text.match(negation)?.length ?? 0;

  test('are 300 at least, of every class and both languages', () => {
    assert.ok(pairs.length >= 300);
    const classes = new Set(pairs.map((pair) => pair.class));
    for (const name of [
      'true',
      'paraphrased',
      'number_changed',
      'date_changed',
      'negation_flipped',
      'stitched',
      'stale',
    ])
      assert.ok(classes.has(name), name);
  });

  test('none that does not stand on its page is accepted; what is cut out of a negation is answered with it', () => {
    const accepted = judged.filter(({ label, answer }) => !label && answer !== undefined);
    const misleading = accepted.filter(
      (pair) => pair.class !== 'negation_flipped' || negations(pair.answer ?? '') <= negations(pair.snippet),
    );
    assert.deepEqual(ids(misleading), []);
  });

  test('of those that stand on their page 10 % at most are refused', () => {
    const refused = judged.filter(({ label, answer }) => label && answer === undefined);
    assert.ok(refused.length <= 0.1 * pairs.filter(({ label }) => label).length, ids(refused).join(', '));
  });
});

const page = `The Widget Works
The Widget Works was founded in 1911[12] by Ana Pop, and sold 1 234 000 widgets for €5 million in 2023.
Patients should not take more than two tablets of it a day, unless a doctor says so.
Temperatura a fost de −5 °C pe 3 martie, iar „prețul” a crescut cu 12 % față de anul trecut în oraș.`;

describe('a snippet', () => {
  const accepted = (snippet: string): boolean => standsOn(page, snippet);
  const answerOf = (text: string, snippet: string): string | undefined => verifySnippet(indexPage(text), snippet)?.text;

  test('is answered in whole sentences of its page, whatever its spelling', () => {
    assert.equal(
      answerOf(page, 'the widget works was FOUNDED in 1911 by Ana Pop , and sold...')?.split(' Patients')[0],
      'The Widget Works was founded in 1911[12] by Ana Pop, and sold 1 234 000 widgets for €5 million in 2023.',
    );
    assert.equal(
      accepted('Temperatura a fost de -5 °C pe 3 martie, iar "preţul" a crescut cu 12 % faţă de anul trecut'),
      true,
    );
  });

  test('may not begin or end inside of a number, nor lose what makes it another one', () => {
    const table: [string, boolean][] = [
      ['was founded in 1911 by Ana Pop, and sold 1 234 000 widgets for €5 million', true],
      ['was founded in 1911 by Ana Pop, and sold 1 234', false],
      ['234 000 widgets for €5 million in 2023. Patients should not take', false],
      ['by Ana Pop, and sold 1 234 000 widgets for €5', false],
      ['5 °C pe 3 martie, iar „prețul” a crescut cu 12 % față de', false],
      ['pe 3 martie, iar „prețul” a crescut cu 12', false],
    ];
    for (const [snippet, expected] of table) assert.equal(accepted(snippet), expected, snippet);
  });

  test('is answered with what denies, limits or asks it, wherever that stands in its sentence or after it', () => {
    const denied = `It is not true, as two newspapers of the region wrote last week, that the port will close its terminal in the autumn of 2025.
The claim that the mayor sold the old market hall to his brother in March is false.
Mr. Pop says the plant is safe. His own engineers denied it on Monday.
Este interzisă, potrivit noului regulament al blocului, depozitarea bicicletelor pe scări și în spațiile comune de la parter.
Implementations that follow this document MUST NOT
send the session header in any request over plain connections to servers.
Not covered:
Theft from an open car in the street`;
    const table: [string, RegExp][] = [
      ['the port will close its terminal in the autumn of 2025', /^It is not true/],
      ['the mayor sold the old market hall to his brother in March', /is false\./],
      ['Pop says the plant is safe', /^Mr\. Pop .* denied it on Monday\./],
      ['depozitarea bicicletelor pe scări și în spațiile comune de la parter', /^Este interzisă/],
      ['send the session header in any request over plain connections to servers', /MUST NOT send/],
      ['Theft from an open car in the street', /^Not covered: … Theft/],
    ];
    for (const [snippet, expected] of table) assert.match(answerOf(denied, snippet) ?? '', expected, snippet);
  });

  test('of a sentence that is too long is cut at the end of a clause, and only when the rest does not turn it', () => {
    const clause = (n: number): string => `the ${n}th hall of the market has stalls of its own and a roof of glass`;
    const long = (tail: string): string =>
      `In this town ${Array.from({ length: 12 }, (_, n) => clause(n)).join(', ')}, ${tail}.`;
    const found = answerOf(long('and it opens at nine'), clause(4)) ?? '';
    assert.ok(found.length <= 520 && found.startsWith('… ') && found.endsWith(', …'), found);
    assert.equal(answerOf(long('but the mayor says that this is not so'), clause(4)), undefined);
  });

  test('of parts is answered where they are one claim; else by the longest part alone', () => {
    const town =
      'The Widget Works was founded in 1911 in the town of Cluj by Ana Pop. Mr. Ban wrote its songs.\nThe mill was sold to its workers in the spring of 1999 for one leu.';
    assert.match(answerOf(town, 'The Widget Works was founded in 1911 … by Ana Pop') ?? '', /^The Widget Works/);
    assert.equal(answerOf(town, 'The Widget Works was founded in 1911 … wrote its songs'), undefined);
    assert.match(
      answerOf(town, 'The Widget Works was … was sold to its workers in the spring of 1999') ?? '',
      /^The mill was sold/,
    );
    assert.equal(answerOf(town, 'The Widget Works was founded in 1911 … and it was sold to nobody'), undefined);
  });

  test('of any words is accepted only when the page holds them in a row', () => {
    const word = fc.constantFrom('a', 'b', 'not', '5', '5.0', '%', '€', 'million', 'nu', '-', '.', '\n');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), fc.array(word, { minLength: 8, maxLength: 14 }), (all, some) => {
        const text = all.join(' ');
        const answer = verifySnippet(indexPage(text), some.join(' '));
        if (!answer) return;
        const { start, end } = answer.span;
        assert.ok(start >= 0 && end <= text.length && start < end && answer.text.length <= 600);
        const bare = (words: string): string =>
          words
            .replace(/[.\n…]/g, ' ')
            .replace(/\s+/g, ' ')
            .trim();
        assert.ok(answer.text.split(' … ').every((part) => bare(text).includes(bare(part))));
      }),
      { numRuns: 2_000 },
    );
  });
});
