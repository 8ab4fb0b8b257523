import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { counted, grantsNothing, lasting, localeOf, locales, scopeGroups, scopeWords, wordsOf } from './index.ts';
import { enScopes } from './scopes.en.ts';

/** Every text of a catalogue by its path; functions are called with what their parameters may be. */
function textsOf(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') {
    const mail = {
      code: '12345678',
      validSeconds: 600,
      link: 'https://x.example/#t',
      server: 'x.example',
      device: 'D',
      at: 'T',
    };
    const given = path.includes('.mails.') ? mail : /slow|ago/.test(path) ? 20 : 'X';
    return textsOf(value(given), path);
  }
  return Object.entries(value as object).flatMap(([key, each]) => textsOf(each, `${path}.${key}`));
}

describe('words', () => {
  test('both languages say the same keys, none of them empty', () => {
    const [english, romanian] = locales.map((locale) => new Map(textsOf(wordsOf(locale))));
    assert.deepEqual([...(romanian?.keys() ?? [])].sort(), [...(english?.keys() ?? [])].sort());
    for (const [path, text] of [...(english ?? []), ...(romanian ?? [])]) assert.match(text, /\S/, path);
    // Names, and words that both languages have.
    const alike = [...(english ?? [])].filter(([path, text]) => romanian?.get(path) === text).map(([path]) => path);
    assert.deepEqual(alike, []);
  });

  test('Romanian letters have a comma below, never a cedilla, and quotes are not of the typewriter', () => {
    for (const [path, text] of textsOf(wordsOf('ro'))) assert.doesNotMatch(text, /[şţŞŢ"]/, path);
    for (const scope of Object.keys(enScopes)) assert.doesNotMatch(scopeWords(scope, 'ro').text, /[şţŞŢ"]/, scope);
  });

  test('texts hold no markup and no hidden character', () => {
    for (const locale of locales) {
      for (const [path, text] of textsOf(wordsOf(locale))) {
        assert.doesNotMatch(text, /[<>&\u00ad\u200b-\u200f\u2028-\u202e\u2066-\u2069\ue000]/, path);
      }
    }
  });

  test('Romanian counts have three forms', () => {
    const forms = { one: 'cod', few: 'coduri', other: 'de coduri' };
    const counts = [0, 1, 2, 19, 20, 21, 100, 101, 119, 120, 1_000];
    assert.deepEqual(
      counts.map((count) => counted('ro', count, forms)),
      [
        '0 coduri',
        '1 cod',
        '2 coduri',
        '19 coduri',
        '20 de coduri',
        '21 de coduri',
        '100 de coduri',
        '101 coduri',
        '119 coduri',
        '120 de coduri',
        '1.000 de coduri',
      ],
    );
    assert.equal(counted('en', 1_000, { one: 'code', other: 'codes' }), '1,000 codes');
  });

  test('a duration is said in the largest unit of which it has two', () => {
    const said = [0, 1, 2, 90, 120, 121, 900, 7_200, 172_800, 7_776_000, -1, Number.NaN].map((seconds) =>
      lasting('ro', seconds),
    );
    assert.deepEqual(said, [
      '0 secunde',
      '1 secundă',
      '2 secunde',
      '90 de secunde',
      '2 minute',
      '3 minute',
      '15 minute',
      '2 ore',
      '2 zile',
      '90 de zile',
      '0 secunde',
      '0 secunde',
    ]);
    assert.deepEqual(
      [1, 90, 1_200].map((seconds) => lasting('en', seconds)),
      ['1 second', '90 seconds', '20 minutes'],
    );
  });

  test('the language is the one that the browser asks for most', () => {
    const asked: [string | undefined, string][] = [
      [undefined, 'en'],
      ['', 'en'],
      ['ro', 'ro'],
      ['ro-RO,ro;q=0.9,en-US;q=0.8,en;q=0.7', 'ro'],
      ['en-GB,en;q=0.9,ro;q=0.8', 'en'],
      ['de-DE,de;q=0.9,ro;q=0.5', 'ro'],
      ['en;q=0.2, RO-md ; q=0.7', 'ro'],
      ['ro;q=0', 'en'],
      ['ro;q=2', 'en'],
      ['rom, enough', 'en'],
      ['*', 'en'],
      [`${'x,'.repeat(5_000)}ro`, 'en'],
    ];
    for (const [header, locale] of asked) assert.equal(localeOf(header), locale, header ?? 'no header');
  });

  test('the scopes that grant nothing are those whose words say so', () => {
    const said = Object.entries(enScopes).flatMap(([scope, text]) => (text.startsWith('Nothing:') ? [scope] : []));
    assert.deepEqual(
      said.toSorted(),
      Object.keys(enScopes)
        .filter((scope) => grantsNothing(scope))
        .toSorted(),
    );
  });

  test('a scope has words and a group; one that is unknown is shown as it is, among those that run', () => {
    assert.deepEqual(scopeWords('heartbeats:read', 'ro'), {
      text: 'Să vadă monitoarele și semnalele lor',
      group: 'read',
      isKnown: true,
    });
    assert.deepEqual(
      ['heartbeats', 'hosts:serve', '*', 'usage'].map((scope) => scopeWords(scope, 'en').group),
      ['change', 'run', 'run', 'read'],
    );
    for (const scope of ['nothing:read', 'constructor', '__proto__', '']) {
      assert.deepEqual(scopeWords(scope, 'en'), { text: scope, group: 'run', isKnown: false });
    }
    for (const scope of Object.keys(enScopes)) {
      const [english, romanian] = locales.map((locale) => scopeWords(scope, locale));
      assert.ok(english?.isKnown && romanian?.isKnown && scopeGroups.includes(english.group), scope);
      assert.notEqual(english.text, romanian.text);
    }
  });
});
