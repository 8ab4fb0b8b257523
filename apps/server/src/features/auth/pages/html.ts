const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/**
 * Characters that a reader cannot see and that change what he sees: marks and turns of direction, breaks, zero widths and
 * control characters. Joiners stay, since letters of some scripts and emoji need them.
 */
const hidden =
  /(?![\t\n\r])\p{Cc}|[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Text with a placeholder, such as `[U+202E]`, in place of each hidden character and of each half of a character. */
const visible = (text: string): string =>
  text
    .toWellFormed()
    .replace(hidden, (found) => `[U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`);

/** Markup that `html` or `exactly` made; nothing else can make one. */
class Markup {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  toString(): string {
    return this.#text;
  }
}
export type { Markup };

/** A value for a template: nothing, text to escape, markup, or several of them. */
export type Piece = Markup | string | number | undefined | false | readonly Piece[];

function written(piece: Piece): string {
  if (piece === undefined || piece === false) return '';
  if (piece instanceof Markup) return piece.toString();
  if (typeof piece === 'string') return escaped(visible(piece));
  return typeof piece === 'number' ? String(piece) : piece.map(written).join('');
}

/** Markup from a template. Each value is escaped, for between tags and in quoted attributes, unless it is markup itself. */
export const html = (texts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup =>
  new Markup(texts.map((text, at) => text + written(pieces[at])).join(''));

/** A value that comes back as it was given, such as that of a hidden field: escaped, with its hidden characters. */
export const exactly = (text: string): Markup => new Markup(escaped(text));

/** At most 100 characters of a name that a stranger chose, for where no markup may stand. */
export function short(text: string): string {
  const characters = Array.from(text.slice(0, 400));
  return characters.length > 100 ? `${characters.slice(0, 100).join('')}…` : text.slice(0, 400);
}

/** A name or address that a stranger chose: cut like `short`, and isolated, so that its direction turns nothing around it. */
export const foreign = (text: string): Markup => html`<bdi>${short(text)}</bdi>`;

/** A sentence of the catalogue with markup in the place of its parameter. */
export function sentence(text: (name: string) => string, name: Markup): Markup {
  // A private character, which stands in no text of ours.
  const place = '\ue000';
  const [before = '', ...after] = text(place).split(place);
  return html`${before}${after.map((rest) => html`${name}${rest}`)}`;
}

/** Schemes whose addresses run code, or show what a stranger wrote as if it were ours. */
const unsafeSchemes: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'blob:',
  'file:',
  'about:',
  'view-source:',
  'filesystem:',
  'intent:',
]);
const nowhere = 'http://base.invalid';

/**
 * An address for `href` and `action`: a path and a whole address are normalized as browsers do, a relative one stays. Throws a
 * TypeError for what is no address, and for a scheme that runs code.
 */
export function address(to: string): string {
  const url = new URL(to, nowhere);
  if (unsafeSchemes.has(url.protocol)) throw new TypeError(`an address must not begin with ${url.protocol}`);
  if (url.origin !== nowhere) return url.href;
  return to.startsWith('/') ? url.href.slice(nowhere.length) : to.trim();
}
