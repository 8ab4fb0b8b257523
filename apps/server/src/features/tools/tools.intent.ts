import type { searchIntents } from '@svc/contract';

/** The subject of a search. */
export type Intent = (typeof searchIntents)[number];

const currency =
  '(?:eur|usd|gbp|ron|chf|jpy|huf|pln|sek|nok|dkk|czk|bgn|mdl|try|euros?|dollars?|dolari?|pounds?|lire?|lei|leu|yen|francs?|franci|forint[si]?|bitcoin|btc)';

/** The first that fits; English and Romanian, with and without diacritics. */
const patterns: readonly (readonly [Intent, RegExp])[] = [
  [
    'currency',
    new RegExp(`\\b${currency}\\s+(?:to|in|vs|into|la)\\s+${currency}\\b|[$€£]\\s*\\d[\\d.,]*\\s+(?:to|in)\\b`, 'i'),
  ],
  ['currency', /\bexchange rates?\b|\bcurs(?:ul)?\s+(?:valutar|bnr|euro|de schimb)\b/i],
  ['weather', /\b(?:weather|forecast|meteo|vremea|prognoza)\b|\btemperatur[ae]s?\s+(?:in|în)\s/i],
  [
    'code',
    /\b\w*(?:Error|Exception)\b|\b(?:stack ?trace|segfault|npm (?:err|install)|undefined is not|compile error)\b|[{}();]{2}|=>/,
  ],
  [
    'docs',
    /\b(?:docs?|documentation|documentati[ae]|documentați[ae]|api|reference|tutorial|manual|changelog|man page|rfc ?\d+|ghid)\b/i,
  ],
  [
    'news',
    /\b(?:news|breaking|latest|today|yesterday|headlines?|azi|astazi|astăzi|ieri|ultim(?:ele|a) or[ăae])\b|știri|stiri/i,
  ],
];

/** The subject of a query, by its words (design: tools, Search). */
export const intentOf = (query: string): Intent =>
  patterns.find(([, pattern]) => pattern.test(query))?.[0] ?? 'general';

const romanianLetter = /[ăâîșțşţ]/i;
const romanianWord =
  /\b(?:care|este|sunt|pentru|din|unde|cine|cum|cand|cat|cate|cati|despre|si|sau|fara|intre|ale|lui|cea|cel|vremea|curs|legea|stiri|orasul|romania)\b/i;

/** Language of a query: Romanian by its letters or commonest words, else English. */
export const languageOf = (query: string): string =>
  romanianLetter.test(query) || romanianWord.test(query) ? 'ro' : 'en';

/** How long what was found holds, in milliseconds (design: tools, Search). */
export const heldMs: Readonly<Record<Intent, number>> = {
  currency: 60_000,
  news: 300_000,
  weather: 3_600_000,
  docs: 3_600_000,
  code: 3_600_000,
  general: 3_600_000,
};
