import { tokensOf } from './tokens.ts';

/** Words of a question that say nothing about what is looked for, in English and Romanian, without diacritics. */
const plain = new Set(
  (
    'a an the of in on at to for from by with about into is are was were be been am do does did has have had can could will ' +
    'would should may might what which who whom whose when where why how and or but if then than that this these those it its ' +
    'i me my we our you your he she they their there here as so please tell show find latest best ' +
    'un o unui unei unor ale al ai cel cea cei cele de la in pe cu din pentru prin despre ce care cine cui cand unde cum cat cata ' +
    'cati cate este e sunt era erau fi fost am ai au are as ar va vor si sau dar daca atunci ca acest aceasta acesti aceste acel ' +
    'acea eu tu el ea noi voi ei ele imi iti isi se sa mai spune arata'
  ).split(' '),
);

/** Endings that change a word's form and not what it names; longest first. */
const endings =
  /(?:urilor|iilor|elor|ilor|ului|urile|ations|ation|ingly|ings|ing|edly|ied|ies|ed|ele|ile|lor|uri|iei|ii|ea|es|ei|ul|le|ly|s|i|e|a|u)$/;
const leastRoot = 4;

/** A word's root, so that forms of one word meet: `prices` and `price`, `prețul` and `preț`. Without diacritics. */
export function rootOf(word: string): string {
  const folded = /^[\x20-\x7e]*$/.test(word) ? word : word.normalize('NFD').replace(/\p{M}/gu, '');
  if (/\p{N}/u.test(folded)) return folded;
  const own = folded.replace(/'s$/, '');
  const cut = own.replace(endings, '');
  return cut.length >= leastRoot ? cut : own;
}

/** The roots of a question's words that say what is looked for, each once; all of them when it has only plain ones. */
export function queryWords(query: string): string[] {
  const words = tokensOf(query)
    .map(({ text }) => text)
    .filter((text) => /[\p{L}\p{N}]/u.test(text));
  const telling = words.filter((text) => !plain.has(text.normalize('NFD').replace(/\p{M}/gu, '')));
  return [...new Set((telling.length > 0 ? telling : words).map(rootOf))];
}
