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
  const judged = pairs.map((pair) => ({ ...pair, accepted: standsOn(textOf(pair.page), pair.snippet) }));
  const wrong = judged.filter(({ label, accepted }) => label !== accepted);
  const ids = (some: readonly Pair[]): string[] => some.map(({ id }) => id);

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

  test('no snippet with another number, date or negation is accepted', () => {
    const strict = new Set(['number_changed', 'date_changed', 'negation_flipped']);
    assert.deepEqual(ids(wrong.filter((pair) => pair.accepted && strict.has(pair.class))), []);
  });

  test('of all that do not stand on their page 1 % at most are accepted, and of those that do 10 % at most are refused', () => {
    const accepted = wrong.filter((pair) => pair.accepted);
    const refused = wrong.filter((pair) => !pair.accepted);
    assert.ok(accepted.length <= 0.01 * pairs.filter(({ label }) => !label).length, ids(accepted).join(', '));
    assert.ok(refused.length <= 0.1 * pairs.filter(({ label }) => label).length, ids(refused).join(', '));
  });
});

const page = `The Widget Works
The Widget Works was founded in 1911[12] by Ana Pop, and sold 1 234 000 widgets for €5 million in 2023.
Patients should not take more than two tablets of it a day, unless a doctor says so.
Temperatura a fost de −5 °C pe 3 martie, iar „prețul” a crescut cu 12 % față de anul trecut în oraș.`;

describe('a snippet', () => {
  const accepted = (snippet: string): boolean => standsOn(page, snippet);

  test('is answered in the words of its page, whatever its spelling', () => {
    assert.equal(
      verifySnippet(indexPage(page), 'the widget works was FOUNDED in 1911 by Ana Pop , and sold...')?.text,
      'The Widget Works was founded in 1911[12] by Ana Pop, and sold',
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

  test('may not begin after the negation of its sentence, nor end before one', () => {
    assert.equal(accepted('take more than two tablets of it a day, unless a doctor says so'), false);
    assert.equal(accepted('€5 million in 2023. Patients should not take more than two tablets'), true);
    assert.equal(accepted('widgets for €5 million in 2023. Patients should'), false);
  });

  test('may not be cut out of a sentence that denies it, however far from its denial', () => {
    const denied = `It is not true, as two newspapers of the region wrote last week, that the port will close its terminal in the autumn of 2025.
The claim that the mayor sold the old market hall to his brother in March is false.
Este interzisă, potrivit noului regulament al blocului, depozitarea bicicletelor pe scări și în spațiile comune de la parter.
The company opened a second factory in Cluj in 2019 and has never closed it.`;
    const table: [string, boolean][] = [
      ['the port will close its terminal in the autumn of 2025', false],
      ['the mayor sold the old market hall to his brother in March', false],
      ['depozitarea bicicletelor pe scări și în spațiile comune de la parter', false],
      ['Never … The company opened a second factory in Cluj in 2019', false],
      ['The company opened a second factory in Cluj in 2019', true],
    ];
    for (const [snippet, expected] of table) assert.equal(standsOn(denied, snippet), expected, snippet);
  });

  test('may not lose its negation or its figure to a line that was wrapped', () => {
    const wrapped = `Implementations that follow this document MUST NOT
send the session header in any request over plain connections to servers.
The costs of the whole project in the end were 12
500 euros more than in the plan of the council for that year.`;
    const table: [string, boolean][] = [
      ['send the session header in any request over plain connections to servers', false],
      ['500 euros more than in the plan of the council for that year', false],
      ['Implementations that follow this document MUST NOT send the session header in any request', true],
    ];
    for (const [snippet, expected] of table) assert.equal(standsOn(wrapped, snippet), expected, snippet);
  });

  test('is refused when its fragments stand in another order, or one of them nowhere', () => {
    assert.equal(
      accepted(
        'Patients should not take more than two tablets of it … The Widget Works was founded in 1911 by Ana Pop',
      ),
      false,
    );
    assert.equal(accepted('The Widget Works was founded in 1911 by Ana Pop … and it was sold to nobody'), false);
    assert.equal(
      accepted('The Widget Works was founded in 1911 by Ana Pop … a crescut cu 12 % față de anul trecut în oraș'),
      true,
    );
  });

  test('of any words is accepted only when the page holds them in a row', () => {
    const word = fc.constantFrom('a', 'b', 'not', '5', '5.0', '%', '€', 'million', 'nu', '-', '.', '\n');
    fc.assert(
      fc.property(fc.array(word, { maxLength: 40 }), fc.array(word, { minLength: 8, maxLength: 14 }), (all, some) => {
        const text = all.join(' ');
        const verified = verifySnippet(indexPage(text), some.join(' '));
        if (!verified) return;
        for (const { start, end } of verified.spans) assert.ok(start >= 0 && end <= text.length && start < end);
        const bare = (words: string): string =>
          words
            .replace(/[.\n…]/g, ' ')
            .replace(/\s+/g, ' ')
            .trim();
        assert.ok(bare(text).includes(bare(verified.text)));
      }),
      { numRuns: 2_000 },
    );
  });
});
