/**
 * Separators of two figures where a tag raises, lowers or strikes one of them: `10<sup>6</sup>` is 10^6 to a reader,
 * and never 106.
 */
const partings = new Map(
  Object.entries({
    sup: '^',
    sub: '_',
    del: ' ',
    ins: ' ',
    s: ' ',
    strike: ' ',
    mn: ' ',
    mfrac: ' ',
  }),
);

/** The sign for a tag; undefined for those that part nothing. */
export const partingOf = (tag: string): string | undefined => partings.get(tag);

/**
 * Whether figures of two texts would read as one number; behind a sign that raises or lowers, a figure with a minus too:
 * `10<sup>-3</sup>` is not 10-3.
 */
export const wouldJoin = (left: string, right: string, sign: string): boolean =>
  (/\p{N}$/u.test(left) && /^\p{N}/u.test(right)) ||
  ((sign === '^' || sign === '_') && /[\p{L}\p{N})]$/u.test(left) && /^[-+\u2212\u2013]\p{N}/u.test(right));
