/** Signs that are two columns wide: those of East Asia (W and F of Unicode's annex 11), and emoji. */
const wide =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\p{M}*\ufe0f)/u;
/** Signs that only say how their neighbours stand: which way a text runs, and where it may break or must not. */
const unseen = /^[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]$/;
const narrow = /^[\0-\u10ff]*$/;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Of the code points of a grapheme those that take no column. */
const above = /[\p{Mn}\p{Me}\p{Cf}]/gu;

/**
 * Columns of a grapheme. An emoji of several signs is one of two; letters that are written as one, as in Hindi, are as
 * many as they are; what no script writes, a letter of 100 accents, has more.
 */
function columnsOfSign(grapheme: string): number {
  if (unseen.test(grapheme)) return 0;
  const letters = wide.test(grapheme) ? 2 : Array.from(grapheme.replaceAll(above, '')).length;
  return Math.max(letters, 1, Math.ceil(grapheme.length / 16));
}

/** Columns that a text takes on a screen: wide signs count twice. */
export function columnsOf(text: string): number {
  if (narrow.test(text) && !/[\p{M}\p{Cf}]/u.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += columnsOfSign(segment);
  return columns;
}
