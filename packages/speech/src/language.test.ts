import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { languageCode, languageOf } from './index.ts';

describe('the language of a text', () => {
  test('is told by frequent words and letters, with and without diacritics', () => {
    const english = ['So what do you think about the new release?', 'I would like to see it first.'];
    const romanian = [
      'Deci ce facem cu lansarea de săptămâna viitoare?',
      'Nu cred ca este bine sa facem asta acum.',
      'Mulțumesc, bună ziua tuturor.',
    ];
    for (const text of english) assert.equal(languageOf(text), 'en', text);
    for (const text of romanian) assert.equal(languageOf(text), 'ro', text);
  });

  test('is null for other languages, for a word or two, and for nothing', () => {
    const others = [
      'Ich glaube nicht, dass wir das heute noch schaffen werden.',
      'Je ne sais pas si nous pouvons le faire avant la fin du mois.',
      'Creo que no podemos hacerlo antes de la próxima semana.',
      'Non credo che si possa fare prima della settimana prossima.',
      'Kubernetes',
      'ok',
      '',
    ];
    for (const text of others) assert.equal(languageOf(text), null, text);
  });
});

describe('the code of a language', () => {
  test('is found for names and BCP 47 codes in any case', () => {
    const codes = [
      'english',
      'English',
      'ro-RO',
      'RO',
      'romanian',
      'ron',
      'pt_BR',
      'zh-Hans-CN',
      'Castilian',
      ' german ',
    ];
    assert.deepEqual(codes.map(languageCode), ['en', 'en', 'ro', 'ro', 'ro', 'ro', 'pt', 'zh', 'es', 'de']);
  });

  test('is null for what is no language', () => {
    for (const name of ['', 'klingonish', '-', 'x'.repeat(1_000), 'haw', '\u0000'])
      assert.equal(languageCode(name), null);
  });
});
