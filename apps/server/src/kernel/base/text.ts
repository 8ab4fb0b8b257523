/** Control and format characters: they move a terminal's cursor, change its colours or turn the direction of text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

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
