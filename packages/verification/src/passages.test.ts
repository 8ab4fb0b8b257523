import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bestPassage, bm25, indexPage, queryWords, relevanceOf, rootOf } from './index.ts';

const page = indexPage(`Home About Contact
Widget prices
The Widget Works was founded in 1911. It is in Cluj. Its widgets are sold in 40 countries of the world.
Prețul unui widget este de 12,50 lei. Prețurile nu au crescut din 2019.
Imprint`);
const passageOf = (query: string): string | undefined => bestPassage(page, queryWords(query))?.text;

describe('the best passage', () => {
  test('answers a question with sentences of the page, not with its menu or a headline', () => {
    assert.match(
      passageOf('When was the Widget Works founded?') ?? '',
      /^The Widget Works was founded in 1911\. It is in Cluj\. Its widgets are sold in 40 countries of the world\. /,
    );
  });

  test('finds other forms of a word, with and without diacritics', () => {
    assert.equal(
      passageOf('pretul widgetului'),
      'Prețul unui widget este de 12,50 lei. Prețurile nu au crescut din 2019.',
    );
    assert.deepEqual(['prices', 'price', 'prețurile', 'prețul'].map(rootOf), ['pric', 'pric', 'pret', 'pret']);
  });

  test('is none where the words of the question are missing', () => {
    assert.equal(passageOf('population of Bucharest'), undefined);
    assert.equal(passageOf(''), undefined);
  });

  test('is bounded on a page without a stop', () => {
    const long = indexPage(`${'word '.repeat(50_000)}needle ${'word '.repeat(50_000)}`);
    const found = bestPassage(long, queryWords('needle'));
    assert.ok(found && found.text.length <= 520 && found.text.includes('needle'));
  });
});

describe('relevance', () => {
  test('a page that holds more of the rare words of a question ranks higher', () => {
    const words = queryWords('widget founded Cluj');
    const texts = ['widget widget widget', 'widget founded in Cluj', 'nothing of it'];
    const scores = bm25(texts.map((text) => relevanceOf(indexPage(text), words)));
    assert.ok((scores[1] ?? 0) > (scores[0] ?? 0) && (scores[0] ?? 0) > (scores[2] ?? 0));
  });
});
