/** Units of style sheets that are read, and their rules. */
export const mostStyle = 200_000;
const mostRules = 2_000;

/** Rules of a page's own style sheets that hide elements. */
export interface Sheet {
  readonly classes: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
  /** Classes and ids without opacity. */
  readonly faded: ReadonlySet<string>;
  /** Classes that show what another one hides, on some screen or on all. */
  readonly shown: ReadonlySet<string>;
}

/**
 * No reader sees what has such a style: it takes no place, has no size, stands outside of the page, or has its ground's
 * colour.
 */
export function isUnseen(style: string): boolean {
  const declared = declarationsOf(style);
  const is = (name: string, ...values: string[]): boolean => values.includes(declared.get(name) ?? '');
  if (is('display', 'none') || is('visibility', 'hidden', 'collapse')) return true;
  if (/^0(?:px|em|rem|pt|%)?$/.test(declared.get('font-size') ?? '')) return true;
  if (offScreen.some((name) => /^-(?:\d{4,}|999)(?:\.\d+)?(?:px|em|rem)$/.test(declared.get(name) ?? ''))) return true;
  if (/^rect\((?:0(?:px)?|1px)/.test(declared.get('clip') ?? '')) return true;
  if (/^inset\((?:50|100)%/.test(declared.get('clip-path') ?? '')) return true;
  const isCut = is('overflow', 'hidden', 'clip');
  if (isCut && ['height', 'width', 'max-height'].some((name) => /^[01](?:px)?$/.test(declared.get(name) ?? '')))
    return true;
  const ground = colourOf(declared.get('background-color') ?? declared.get('background') ?? '');
  return ground !== '' && ground === colourOf(declared.get('color') ?? '');
}

/** Whether a style leaves nothing to see of a small part; large ones begin like this, and a script shows them. */
export function isFaded(style: string): boolean {
  const declared = declarationsOf(style);
  const moves = ['transform', 'transition', 'animation', 'will-change'].some((name) => declared.has(name));
  return !moves && /^0(?:\.0+)?%?$/.test(declared.get('opacity') ?? '');
}

const offScreen = ['left', 'top', 'right', 'text-indent', 'margin-left', 'margin-top'];

/** Values by property, the last one of each, in lower case and without white space. */
function declarationsOf(style: string): Map<string, string> {
  const declared = new Map<string, string>();
  for (const line of style.slice(0, 2_000).toLowerCase().split(';')) {
    const at = line.indexOf(':');
    if (at === -1) continue;
    const value = line
      .slice(at + 1)
      .replace('!important', '')
      .replace(/\s+/g, '');
    declared.set(line.slice(0, at).trim(), value);
  }
  return declared;
}

const named = new Map([
  ['white', '#ffffff'],
  ['black', '#000000'],
]);
/** A colour in one spelling; empty for one that cannot be compared. */
function colourOf(value: string): string {
  const colour = named.get(value) ?? value;
  if (/^#[0-9a-f]{3}$/.test(colour)) return colour.replace(/[0-9a-f]/g, '$&$&');
  const rgb = /^rgb\((\d{1,3}),(\d{1,3}),(\d{1,3})\)$/.exec(colour);
  if (rgb)
    return `#${rgb
      .slice(1)
      .map((part) => Number(part).toString(16).padStart(2, '0'))
      .join('')}`;
  return /^#[0-9a-f]{6}$/.test(colour) ? colour : '';
}

/** Reads which classes and ids a style sheet hides on every screen; what `@media` hides does not count, what it shows does. */
export function sheetOf(styles: readonly string[]): Sheet {
  const sheet = {
    classes: new Set<string>(),
    ids: new Set<string>(),
    faded: new Set<string>(),
    shown: new Set<string>(),
  };
  let left = mostRules;
  for (const style of styles)
    left = readRules(style.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' '), sheet, { left, isMedia: false });
  return sheet;
}

type Growing = { [K in keyof Sheet]: Set<string> };

/** Reads rules; answers how many more may be read. */
function readRules(text: string, sheet: Growing, { left, isMedia }: { left: number; isMedia: boolean }): number {
  let rules = left;
  for (let at = 0; at < text.length && rules > 0; rules -= 1) {
    const open = text.indexOf('{', at);
    if (open === -1) break;
    const selectors = text.slice(at, open).trim();
    const isBlock = selectors.startsWith('@');
    const close = isBlock ? endOfBlock(text, open) : text.indexOf('}', open);
    if (close === -1) break;
    at = close + 1;
    const inner = text.slice(open + 1, close);
    if (isBlock) {
      if (!isMedia && /^@(?:media|supports|layer)/i.test(selectors))
        rules = readRules(inner, sheet, { left: rules, isMedia: true });
      continue;
    }
    const fades = isFaded(inner);
    const hides = fades || isUnseen(inner);
    if (hides && isMedia) continue;
    if (!hides && !/(?:^|[;\s])display\s*:/i.test(inner)) continue;
    for (const selector of selectors.split(',')) {
      const [, sign, name = ''] = /^\s*[a-z]{0,10}([.#])([\w-]+)\s*$/i.exec(selector) ?? [];
      if (name === '') continue;
      if (fades) sheet.faded.add(name);
      else if (sign === '.') (hides ? sheet.classes : sheet.shown).add(name);
      else if (sign === '#' && hides) sheet.ids.add(name);
    }
  }
  return rules;
}

/** Where a block ends that holds other ones; -1: nowhere. */
function endOfBlock(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 123) depth += 1;
    else if (code === 125 && --depth === 0) return at;
  }
  return -1;
}

/** Whether a page's own sheet leaves nothing to see of a small part. */
export const isFadedBy = (
  { faded }: Sheet,
  { id = '', class: names = '' }: Readonly<Record<string, string>>,
): boolean => faded.size > 0 && [id, ...names.slice(0, 1_000).split(/\s+/)].some((name) => faded.has(name));

/** Whole pages begin hidden by a class until their script runs; so these are never hidden by one. */
const wholes = new Set(['html', 'body', 'main', 'article']);

/** Whether a page's own sheet hides an element. */
export function isHiddenBy(sheet: Sheet, tag: string, attributes: Readonly<Record<string, string>>): boolean {
  if (sheet.classes.size + sheet.ids.size === 0 || wholes.has(tag)) return false;
  if (sheet.ids.has(attributes['id'] ?? '')) return true;
  if (attributes['class'] === undefined || sheet.classes.size === 0) return false;
  const names = attributes['class'].slice(0, 1_000).split(/\s+/);
  return names.some((name) => sheet.classes.has(name)) && !names.some((name) => sheet.shown.has(name));
}
