import type { Token } from './words.ts';

const units = new Map(
  Object.entries({
    zero: 0,
    two: 2,
    three: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    nine: 9,
    ten: 10,
    eleven: 11,
    twelve: 12,
    thirteen: 13,
    fourteen: 14,
    fifteen: 15,
    sixteen: 16,
    seventeen: 17,
    eighteen: 18,
    nineteen: 19,
    doi: 2,
    doua: 2,
    trei: 3,
    patru: 4,
    cinci: 5,
    sase: 6,
    sapte: 7,
    opt: 8,
    zece: 10,
    unsprezece: 11,
    doisprezece: 12,
    douasprezece: 12,
    treisprezece: 13,
    paisprezece: 14,
    cincisprezece: 15,
    saisprezece: 16,
    saptesprezece: 17,
    optsprezece: 18,
    nouasprezece: 19,
  }),
);
const tens = new Map(
  Object.entries({
    twenty: 20,
    thirty: 30,
    forty: 40,
    fifty: 50,
    sixty: 60,
    seventy: 70,
    eighty: 80,
    ninety: 90,
    douazeci: 20,
    treizeci: 30,
    patruzeci: 40,
    cincizeci: 50,
    saizeci: 60,
    saptezeci: 70,
    optzeci: 80,
    nouazeci: 90,
  }),
);
const multipliers = new Map(
  Object.entries({
    hundred: 100,
    thousand: 1_000,
    million: 1e6,
    millions: 1e6,
    billion: 1e9,
    billions: 1e9,
    suta: 100,
    sute: 100,
    mie: 1_000,
    mii: 1_000,
    milion: 1e6,
    milioane: 1e6,
    miliard: 1e9,
    miliarde: 1e9,
  }),
);
/** Numbers that are more often no number: an article, a pronoun, "new". They are known where they were said, and never asked for. */
const weak = new Map(Object.entries({ a: 1, an: 1, one: 1, un: 1, o: 1, una: 1, unu: 1, unul: 1, noua: 9 }));
/** Words between the words of one number. */
const links = new Set(['and', 'si', 'de']);

/** The numbers of a text. */
export interface Numbers {
  /** In one spelling: 3, "three" and "trei" are "3", 1,500 and 1.500 are "1500", 10:00 is "10". */
  values: Set<string>;
  /** Those of `values` that are certainly meant as numbers. */
  strong: Set<string>;
  /** Which tokens they were read from, by place. */
  places: Set<number>;
}

/** Reads the numbers of a text, in figures and in English and Romanian words. */
export function numbersOf(tokens: readonly Token[]): Numbers {
  const found: Numbers = { values: new Set(), strong: new Set(), places: new Set() };
  for (let at = 0; at < tokens.length; ) {
    const read = numberAt(tokens, at);
    if (read) {
      found.values.add(read.value);
      if (!read.isWeak) {
        found.strong.add(read.value);
        for (let place = at; place < read.past; place += 1) found.places.add(place);
      }
    }
    at = read?.past ?? at + 1;
  }
  return found;
}

interface Read {
  value: string;
  isWeak: boolean;
  past: number;
}

function numberAt(tokens: readonly Token[], at: number): Read | undefined {
  const word = tokens[at]?.text ?? '';
  if (/^\p{N}/u.test(word)) return figureAt(tokens, at, word);
  return wordsAt(tokens, at);
}

function figureAt(tokens: readonly Token[], at: number, word: string): Read {
  const value = figure(word);
  const amount = Number(value);
  const next = Number.isFinite(amount) ? multiplierAfter(tokens, at + 1) : undefined;
  // "20 de mii", "15 million".
  return next
    ? { value: String(amount * next.times), isWeak: false, past: next.past }
    : { value, isWeak: false, past: at + 1 };
}

/** A figure in one spelling. */
function figure(word: string): string {
  const own = word.replace(/(?<=\p{N})(?:st|nd|rd|th|lea|a|ul)$/u, '').replace(/:00$/, '');
  if (/^\d{1,3}(?:[.,]\d{3})+$/.test(own)) return own.replaceAll(/[.,]/g, '');
  if (/^\d+$/.test(own)) return own.replace(/^0+(?=\d)/, '');
  return own.replace(',', '.').replace(/^0+(?=\d)/, '');
}

function multiplierAfter(tokens: readonly Token[], at: number): { times: number; past: number } | undefined {
  const past = tokens[at]?.text === 'de' ? at + 1 : at;
  const times = multipliers.get(tokens[past]?.text ?? '');
  return times === undefined ? undefined : { times, past: past + 1 };
}

/** The longest number in words: sums of units, tens and multiplied ones, in falling order. */
function wordsAt(tokens: readonly Token[], at: number): Read | undefined {
  let [total, current, past] = [0, 0, at];
  let isWeak = true;
  for (let n = at; n < tokens.length; n += 1) {
    const word = tokens[n]?.text ?? '';
    if (past > at && links.has(word) && isNumeral(tokens[n + 1]?.text ?? '')) continue;
    const times = multipliers.get(word);
    const value = units.get(word) ?? tens.get(word) ?? (past === at || current >= 20 ? weak.get(word) : undefined);
    if (times !== undefined && current > 0) {
      if (times === 100) current *= 100;
      else [total, current] = [total + current * times, 0];
      isWeak = false;
    } else if (value !== undefined && fits(current, value, word, past === at)) {
      current += value;
      isWeak = isWeak && weak.has(word);
    } else break;
    past = n + 1;
  }
  return past === at ? undefined : { value: String(total + current), isWeak, past };
}

const linked = new Set(['one', 'unu', 'una', 'noua']);
const isNumeral = (word: string): boolean =>
  units.has(word) || tens.has(word) || multipliers.has(word) || linked.has(word);

/** Whether a value may follow in the same number: "twenty" "five", but not "two" "three". */
function fits(current: number, value: number, word: string, isFirst: boolean): boolean {
  if (isFirst || current === 0) return true;
  if (value === 0 || word === 'a' || word === 'an' || word === 'o' || word === 'un') return false;
  return current % 100 === 0 || (value < 10 && current % 10 === 0 && current % 100 >= 20);
}
