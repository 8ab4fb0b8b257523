/** A word, number or sign of a text, with where it stands there. */
export interface Token {
  /** In one spelling: NFKC, lower case, quotes and dashes made alike. Equal tokens read the same. */
  readonly text: string;
  /** UTF-16 units from the start of the text, first and past the last. */
  readonly start: number;
  readonly end: number;
}

/** Characters that show nothing: the soft hyphen, joiners, marks of order. */
const invisible = '\\u00ad\\u200b-\\u200f\\u2060\\ufeff';
/** Signs that stay inside of a word or number when more of it follows: 3.14, 12:30, it's, example.org. */
const inner = `[.,:'’](?=[${invisible}]*[\\p{L}\\p{N}])`;
const word = `[\\p{L}\\p{N}](?:[\\p{L}\\p{N}\\p{M}${invisible}]|${inner})*`;
/** A sign before a number, where no word stands before it: -5, but not 2010-2014. */
const minus = '(?<![\\p{L}\\p{N}\\p{M}])[-−–](?=[\\p{Sc}]?\\p{N})';
/** Signs that change what is said. Quotes, dashes, brackets and stops do not. */
const sign = '[\\p{Sc}%‰°±+#<>=≤≥≠≈~×÷]';
/** Marks that a reader skips and search engines drop: [12], [a], [edit]. They are matched to be passed over. */
const reference = '\\[(?:\\p{N}{1,4}|[a-z]|edit|citation needed|necesită citare|modificare)\\]';

const pattern = new RegExp(`${reference}|${word}|${minus}|${sign}`, 'giu');
const hidden = new RegExp(`[${invisible}]`, 'gu');
/** Romanian's letters with a comma below, as older keyboards write them: with a cedilla. */
const cedilla: Readonly<Record<string, string>> = { ş: 'ș', ţ: 'ț' };

/** Reads a text's tokens, in their order. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(pattern)) {
    const found = match[0];
    if (found.startsWith('[')) continue;
    tokens.push({ text: spelled(found), start: match.index, end: match.index + found.length });
  }
  return tokens;
}

/** One spelling of what reads the same. */
function spelled(found: string): string {
  // Nearly all tokens are plain; the rest costs ten times as much.
  if (/^[a-z0-9.,:]+$/.test(found)) return found;
  return found
    .replace(hidden, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[şţ]/g, (letter) => cedilla[letter] ?? letter)
    .replace(/[’‘]/g, "'")
    .replace(/^[−–]$/, '-');
}

/** Whether a token is a number or begins with one. */
export const isNumeric = (token: string): boolean => /^\p{N}/u.test(token);

/** Whether a token is a sign that belongs to a number. */
export const isSign = (token: string): boolean => /^[-\p{Sc}%‰°±+<>=≤≥≠≈~×÷]$/u.test(token);

/** Words that turn what they belong to, in English and Romanian: they matter only where a sentence is too long to be shown whole. */
const turning = new Set(
  (
    'not no never nobody none nothing neither nor without cannot hardly barely but however although though unless except if ' +
    'only until provided false untrue denied denies deny refused banned prohibited forbidden ' +
    'nu n nici niciodată niciun nicio nimeni nimic fără dar însă totuși deși decât dacă numai doar până exceptând afară fals ' +
    'falsă neagă negat dezminte dezmințit interzis interzisă'
  ).split(' '),
);

/** Whether a word may turn what it belongs to into something else. */
export const isTurning = (token: string): boolean => turning.has(token) || token.endsWith("n't");

const multipliers = new Set(
  (
    'hundred thousand million millions billion billions trillion m bn k percent percentage per cent dozen ' +
    'sute mie mii milion milioane miliard miliarde la sută procente'
  ).split(' '),
);

/** Whether a word after a number makes it another number: five, five million. */
export const isMultiplier = (token: string): boolean => multipliers.has(token);
