import { lexicon, longestPhrase, type Token } from './words.lexicon.ts';

/** One spelling for each phrase: no case, no marks, so that `duminică`, `duminica` and `DUMINICĂ` are one. */
function normalize(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/[‐-―]/g, '-')
    .replaceAll(/[’`]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const piece =
  /(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)|(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)|(\d{1,2})[:.h](\d{2})(?!\d)\s?(?:([ap])\.?m\.?(?![a-z]))?|(\d{1,2})\s?([ap])\.?m\.?(?![a-z])|(\d{1,2})(?:st|nd|rd|th)(?![a-z])|(\d{1,6})(?![a-z\d])|([a-z]+(?:-(?:amiaza|masa|[a-z]+))?(?:'[a-z]+)?|@|&|-)|([,.;!?])/y;

/** Parts of a normalised text; undefined when it holds anything else. Words are still text. */
function pieces(text: string): (Token | string)[] | undefined {
  const found: (Token | string)[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === ' ') {
      at += 1;
      continue;
    }
    piece.lastIndex = at;
    const match = piece.exec(text);
    if (!match) return undefined;
    at = piece.lastIndex;
    const token = tokenOf(match);
    if (token !== undefined) found.push(token);
  }
  return found;
}

function tokenOf(match: RegExpExecArray): Token | string | undefined {
  const [, y, m, d, d2, m2, y2, hour, minute, half, hour12, half12, ordinal, number, word, stop] = match;
  if (y !== undefined) return { is: 'date', year: Number(y), month: Number(m), day: Number(d) };
  if (y2 !== undefined) return { is: 'date', year: Number(y2), month: Number(m2), day: Number(d2) };
  if (hour !== undefined) return timeOf(hour, minute, half);
  if (hour12 !== undefined) return timeOf(hour12, '0', half12);
  if (ordinal !== undefined) return { is: 'ordinal', value: Number(ordinal), isDigits: true };
  if (number !== undefined) return { is: 'number', value: Number(number) };
  if (stop === ',') return { is: 'and' };
  return word === "o'clock" || word === 'oclock' ? undefined : word;
}

function timeOf(hour: string, minute: string | undefined, half: string | undefined): Token {
  const time = { is: 'time', hour: Number(hour), minute: Number(minute) } as const;
  if (half === undefined) return time;
  return { ...time, half: half === 'a' ? 'am' : 'pm' };
}

/** The tokens of a text, longest phrases first; undefined when a word is in neither language. */
export function tokenize(text: string): Token[] | undefined {
  const parts = pieces(normalize(text));
  if (!parts) return undefined;
  const tokens: Token[] = [];
  for (let at = 0; at < parts.length; ) {
    const part = parts[at] as Token | string;
    if (typeof part !== 'string') {
      tokens.push(part);
      at += 1;
      continue;
    }
    const taken = phraseAt(parts, at);
    if (!taken) return undefined;
    tokens.push(taken.token);
    at += taken.length;
  }
  return tokens;
}

function phraseAt(parts: readonly (Token | string)[], at: number): { token: Token; length: number } | undefined {
  for (let length = Math.min(longestPhrase, parts.length - at); length > 0; length -= 1) {
    const phrase = parts.slice(at, at + length).filter((part) => typeof part === 'string');
    const token = phrase.length === length ? lexicon.get(phrase.join(' ')) : undefined;
    if (token) return { token, length };
  }
  const word = parts[at];
  // `monday-friday`, `luni-vineri`: two words with a range between them.
  if (typeof word === 'string' && word.includes('-') && word !== '-') {
    const [first, second, ...rest] = word.split('-');
    const [from, to] = [lexicon.get(first ?? ''), lexicon.get(second ?? '')];
    if (from?.is === 'weekday' && to?.is === 'weekday' && rest.length === 0) {
      return { token: { is: 'weekday', days: range(from.days[0] ?? 1, to.days[0] ?? 1) }, length: 1 };
    }
  }
  return undefined;
}

/** Days from one weekday to another, over the week's end where need be. */
export function range(from: number, to: number): number[] {
  const length = ((to - from + 7) % 7) + 1;
  return Array.from({ length }, (_, i) => ((from - 1 + i) % 7) + 1);
}
