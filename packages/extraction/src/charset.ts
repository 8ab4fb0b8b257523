import { clean } from './text.ts';

const asciiHead = 4096;

/** A decoder's own name for a label; undefined for one that nobody knows. */
function known(label: string | undefined): string | undefined {
  if (label === undefined || label.length > 40) return undefined;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return undefined;
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return undefined;
}

/** The charset in the text's first bytes: an XML declaration, or a `<meta>`. UTF-16 cannot be named there. */
function declared(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, asciiHead));
  const found =
    /^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w:.-]{1,40})["']/i.exec(head)?.[1] ??
    /<meta\s[^>]{0,500}?\bcharset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(head)?.[1];
  const label = known(found);
  if (label?.startsWith('utf-16') === true) return 'utf-8';
  return label === 'x-user-defined' ? 'windows-1252' : label;
}

/** What pages in a language were written in before UTF-8, as browsers take it; others: windows-1252. */
const ofLanguages: readonly (readonly [languages: string, label: string])[] = [
  ['ro cs sk hr bs sl pl hu sq', 'windows-1250'],
  ['ru uk be bg mk sr kk ky tg tt', 'windows-1251'],
  ['el', 'windows-1253'],
  ['tr az ku', 'windows-1254'],
  ['he', 'windows-1255'],
  ['ar fa ur', 'windows-1256'],
  ['et lt lv', 'windows-1257'],
];

/** The charset of a page that names none, by the language that it says it is in. */
function byLanguage(bytes: Uint8Array): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, asciiHead));
  const [, language = ''] = /<html\b[^>]{0,500}?\s(?:xml:)?lang\s*=\s*["']?\s*([a-z]{2})\b/i.exec(head) ?? [];
  const found = ofLanguages.find(([languages]) => language !== '' && languages.includes(language.toLowerCase()));
  return found?.[1] ?? 'windows-1252';
}

/** Whether a decoder takes all bytes; a character that the cut at the end of a document halved does not count. */
function takes(label: string, bytes: Uint8Array): boolean {
  try {
    new TextDecoder(label, { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Every place of UTF-8 beyond ASCII is wrong: the label lies. A page in UTF-8 with one broken byte is left alone. */
function mostlyWrong(text: string): boolean {
  let wrong = 0;
  let right = 0;
  for (const [character] of text.slice(0, 500_000).matchAll(/[^\0-\x7f]/gu)) {
    if (character === '\ufffd') wrong += 1;
    else right += 1;
  }
  return wrong > right;
}

/** Text-like bytes of UTF-16 without a mark: every second one of the first is 0. */
function looksUtf16(bytes: Uint8Array): string | undefined {
  const head = bytes.subarray(0, 64);
  if (head.length < 8) return undefined;
  let even = 0;
  let odd = 0;
  for (const [at, byte] of head.entries()) {
    if (byte !== 0) continue;
    if (at % 2 === 0) even += 1;
    else odd += 1;
  }
  const half = head.length / 2;
  if (odd > half * 0.8 && even === 0) return 'utf-16le';
  return even > half * 0.8 && odd === 0 ? 'utf-16be' : undefined;
}

/** Whether bytes are text of two bytes a character, so that their zeros do not make them binary. */
export const isUtf16 = (bytes: Uint8Array): boolean => {
  const mark = byteOrderMark(bytes);
  return mark?.startsWith('utf-16') === true || looksUtf16(bytes) !== undefined;
};

/**
 * Text of bytes: by mark, the header's charset, the document's own, else UTF-8 if it is valid, else what its language was
 * written in, windows-1252 mostly.
 * A label that the bytes contradict is passed over. Without NUL, control characters and lone surrogates.
 */
export function decode(bytes: Uint8Array, headerCharset: string | undefined): string {
  const mark = byteOrderMark(bytes);
  if (mark !== undefined) return clean(new TextDecoder(mark).decode(bytes));
  const labels = [known(headerCharset), declared(bytes), looksUtf16(bytes), 'utf-8'];
  let lenient: string | undefined;
  for (const label of labels) {
    if (label === undefined) continue;
    const isWide = label.startsWith('utf-16') && looksUtf16(bytes) === undefined;
    if (isWide) continue;
    if (takes(label, bytes)) return clean(new TextDecoder(label).decode(bytes));
    const text = new TextDecoder(label).decode(bytes);
    if (!mostlyWrong(text)) lenient ??= text;
  }
  return clean(lenient ?? new TextDecoder(byLanguage(bytes)).decode(bytes));
}
