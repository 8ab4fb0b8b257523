/** C0 and C1 controls but for tab and line feed, and noncharacters: XML and PDF text refuse most of them. */
const controls = /(?![\t\n])\p{Cc}|\p{Noncharacter_Code_Point}/gu;
/** Embeddings, overrides and isolates: one that is not closed turns the text behind it. Plain marks stay. */
const turns = /[\u202a-\u202e\u2066-\u2069]/gu;

/** Text without lone surrogates, control characters and open turns of direction; line breaks are line feeds. */
export const clean = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/gu, '\n')
    .replace(controls, '')
    .replace(turns, '');

/** The same on one line: each run of white space is one space. */
export const oneLine = (text: string): string => clean(text).replace(/\s+/gu, ' ').trim();

/** As many characters of a text as there may be, none cut in two. */
export const cutTo = (text: string, most: number): string =>
  text.length <= most
    ? text
    : Array.from(text.slice(0, 2 * most))
        .slice(0, most)
        .join('');

/** The paragraphs of a longer text, each on one line; empty ones are left out. */
export const paragraphsOf = (text: string): string[] =>
  clean(text)
    .split('\n')
    .map((line) => oneLine(line))
    .filter((line) => line !== '');

/** Whole milliseconds, never negative; 0 for what is no number. */
const wholeMs = (ms: number): number => (Number.isFinite(ms) && ms > 0 ? Math.floor(ms) : 0);

/** Hours, minutes, seconds and milliseconds of a time. */
export function clockOf(ms: number): { hours: number; minutes: number; seconds: number; rest: number } {
  const whole = wholeMs(ms);
  const all = Math.floor(whole / 1000);
  return { hours: Math.floor(all / 3600), minutes: Math.floor(all / 60) % 60, seconds: all % 60, rest: whole % 1000 };
}

/** A number with so many digits at least. */
export const padded = (value: number, digits = 2): string => String(value).padStart(digits, '0');

/** A time as `hh:mm:ss`. */
export function stamp(ms: number): string {
  const { hours, minutes, seconds } = clockOf(ms);
  return `${padded(hours)}:${padded(minutes)}:${padded(seconds)}`;
}
