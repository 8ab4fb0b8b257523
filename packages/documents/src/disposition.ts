import { cutTo, oneLine } from './text.ts';

/** Most characters of a title in a file name: file systems take 255 bytes. */
const mostCharacters = 200;

/** Letters that do not come apart into a base and a mark, and signs with a plain twin. */
const twins: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ł: 'l',
  Ł: 'L',
  ı: 'i',
  '–': '-',
  '—': '-',
  '‘': "'",
  '’': "'",
};

/**
 * The value of `content-disposition` for an export (RFC 6266): an ASCII `filename` and the title itself in `filename*`
 * (RFC 8187). Of the title only path separators (as `-`), control characters and lone surrogates are changed there, and
 * what is past 200 characters is cut: a file name cannot have them.
 */
export function contentDisposition(title: string, extension: string): string {
  const ending = extension.replace(/[^a-z\d]/gi, '');
  const exact = cut(withoutControls(title).replace(/[/\\]/g, '-').trim()) || 'transcript';
  const plain = cut(ascii(title)) || 'transcript';
  return `attachment; filename="${plain}.${ending}"; filename*=UTF-8''${encoded(`${exact}.${ending}`)}`;
}

const cut = (text: string): string => cutTo(text, mostCharacters).trim();

const withoutControls = (text: string): string => text.toWellFormed().replace(/\p{Cc}/gu, '');

/** Letters without marks; what a quoted string or a file system could misread becomes `-`, what is not ASCII goes. */
function ascii(title: string): string {
  const folded = oneLine(title)
    .replace(/[ßæÆœŒøØđĐłŁı–—‘’]/gu, (character) => twins[character] ?? '')
    .normalize('NFD')
    .replace(/[^\x20-\x7e]/gu, '')
    .replace(/["\\/:*?<>|%]/g, '-')
    .replace(/ +/g, ' ')
    .replace(/^[ .]+|[ .]+$/g, '');
  return /[a-z\d]/i.test(folded) ? folded : '';
}

/** Characters of RFC 8187's `attr-char` as they are, all others as bytes of UTF-8. */
const encoded = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
