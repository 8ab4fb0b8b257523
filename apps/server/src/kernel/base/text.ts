/** Control and format characters: they move a terminal's cursor, change its colours or turn the direction of text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What a terminal takes for a colour, a move of its cursor, a title of its window or a link. */
// oxlint-disable-next-line no-control-regex
const sequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\))/g;
/** Acts on a terminal, or turns the direction of what stands behind it; tabs and ends of lines aside. */
const acting = /(?![\0\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * A text of others for people to read, in mails and messages and on terminals: without the sequences by which programs colour
 * their output, and with each other character that would act as its number. Lines, tabs and emoji stay.
 */
export const readable = (text: string): string =>
  text.replaceAll('\r\n', '\n').replace(sequence, '').replace(acting, printable);

/** Shows a text as it is, with each unprintable character as its number: names are made by others. */
export const printable = (text: string): string =>
  text.toWellFormed().replace(unprintable, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);

/** The same for JSON, in its own notation. */
export const printableJson = (text: string): string =>
  text.replace(unprintable, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );

/** The same for a text that was laid out and coloured here: lines and colours stay. */
export const printableLines = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/(\n|\u001b\[\d+m)|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found, kept) => (kept ? found : printable(found)));
