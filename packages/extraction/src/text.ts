/** Cuts a text to at most `most` UTF-16 units, never between the halves of a surrogate pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.max(0, most);
  const last = end > 0 ? text.charCodeAt(end - 1) : 0;
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}

// oxlint-disable-next-line no-control-regex
const unseen = /[\u0000-\u0008\u000e-\u001f\u007f\u00ad\u200b\u2060\ufeff]+/g;

/** White space as one space, no-break spaces too; without characters that are never seen. */
export const collapse = (text: string): string =>
  text.replace(unseen, '').replace(/[ \t\n\r\f\v\u00a0\u2028\u2029\u0085]+/g, ' ');

/** One trimmed line of at most `most` units. The slice bounds the work on a hostile text. */
export function oneLine(text: string, most: number): string {
  // oxlint-disable-next-line no-control-regex
  const line = collapse(text.slice(0, most * 8)).replace(/[\u0000-\u001f\u007f-\u009f]/g, '');
  return cut(line.trim().toWellFormed(), most).trim();
}

const named: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Resolves the entities of XML and those by number; others stay. */
export const resolveEntities = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(lt|gt|amp|quot|apos));/gi, (whole, decimal, hex, name) => {
    if (typeof name === 'string') return named[name.toLowerCase()] ?? whole;
    const code = typeof decimal === 'string' ? Number(decimal) : Number.parseInt(`${hex}`, 16);
    return code > 31 && code < 0x110000 && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : ' ';
  });

/** Without NUL, other control characters or lone surrogates; lines end with `\n`. */
export const clean = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, '')
    .toWellFormed();

/** An absolute URL of one of these schemes, or `''`. */
export function safeUrl(href: string, base: string, schemes: RegExp = /^(?:https?|mailto):$/): string {
  const trimmed = href.trim();
  if (trimmed === '' || trimmed.length > 4096) return '';
  const url = URL.parse(trimmed, base === '' ? undefined : base);
  if (url === null || !schemes.test(url.protocol) || url.href.length > 4096) return '';
  return url.href;
}
