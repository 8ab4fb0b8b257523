import { mostStyle } from './hidden.ts';
/** Bounds of what the parser is given. Its stack is an array shifted at every tag, so depth costs squared time. */
const mostDepth = 256;
const mostElements = 100_000;
const mostAttributes = 200_000;
const longestTag = 32_768;
const mostEntities = 50_000;
const mostStray = 10_000;

/** HTML that the parser reads in time linear in its length. */
export interface Tidied {
  readonly html: string;
  /** Texts of the JSON-LD scripts. */
  readonly jsonLd: readonly string[];
  /** Texts of scripts that hold data. */
  readonly data: readonly string[];
  /** It has scripts that run. */
  readonly hasScripts: boolean;
  /** Texts of style sheets. */
  readonly styles: readonly string[];
  /** Attributes of `<html>`, as written. */
  readonly rootTag: string;
  readonly elements: number;
  /** Something was left out to stay within the bounds. */
  readonly bounded: boolean;
}

/** Elements whose content is no markup and is not seen, up to their end tag or the end of the page. */
const raw = new Set(['script', 'style', 'noscript', 'iframe', 'noembed', 'noframes', 'textarea']);
const voids = new Set(
  'area base basefont br col command embed frame hr img input keygen link meta param source track wbr'.split(' '),
);
/** Transparent here: the page gets one of each anyway. */
const frame = new Set(['html', 'head', 'body']);
/** A start tag that ends the element on top of the stack, as the parser has it; unclosed `<p>` do not nest. */
const closes = new Map(
  Object.entries({
    p: 'p',
    li: 'li',
    tr: 'tr th td',
    th: 'th',
    td: 'thead th td',
    dd: 'dt dd',
    dt: 'dt dd',
    option: 'option',
    div: 'p',
    ul: 'p',
    ol: 'p',
    table: 'p',
    pre: 'p',
    blockquote: 'p',
    section: 'p',
    h1: 'p',
    h2: 'p',
    h3: 'p',
  }),
);
/** Parts of a table that end with the next one: what such a start tag ends, within the nearest of what it stands in. */
const cells = ['td', 'th'];
const rowParts = ['caption', 'colgroup', 'tr', ...cells];
const sectionParts = ['tbody', 'thead', 'tfoot', ...rowParts];
const ends = new Map<string, { within: readonly string[]; parts: readonly string[] }>(
  Object.entries({
    ...Object.fromEntries(cells.map((name) => [name, { within: ['table', 'tr'], parts: cells }])),
    tr: { within: ['table', 'tbody', 'thead', 'tfoot'], parts: rowParts },
    ...Object.fromEntries(
      ['tbody', 'thead', 'tfoot', 'caption', 'colgroup'].map((name) => [
        name,
        { within: ['table'], parts: sectionParts },
      ]),
    ),
  }),
);
const inline = new Set(
  'a abbr b bdi bdo big cite code em font i kbd mark q s samp small span strong sub sup tt u var'.split(' '),
);

/**
 * Leaves out comments, scripts and what else nobody sees, and holds depth, elements and attributes within bounds: tags
 * beyond them go, their text stays. One pass.
 */
export function tidy(html: string): Tidied {
  const pass = new Pass(html);
  pass.run();
  return {
    html: pass.out.join(''),
    jsonLd: pass.jsonLd,
    data: pass.data,
    hasScripts: pass.hasScripts,
    styles: pass.styles,
    rootTag: pass.rootTag,
    elements: pass.elements,
    bounded: pass.bounded,
  };
}

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

class Pass {
  readonly out: string[] = [];
  readonly jsonLd: string[] = [];
  readonly data: string[] = [];
  hasScripts = false;
  readonly styles: string[] = [];
  private styleUnits = 0;
  rootTag = '';
  elements = 0;
  bounded = false;
  private attributes = 0;
  private strays = 0;
  /** Start of what is not copied yet. */
  private from = 0;
  private readonly open: string[] = [];
  /** Ends of raw elements that the page does not have, so that they are looked for once. */
  private readonly missing = new Set<string>();
  private readonly html: string;

  constructor(html: string) {
    this.html = boundEntities(html);
  }

  run(): void {
    const { html } = this;
    let at = html.indexOf('<');
    while (at !== -1 && at < html.length) {
      const next = html.charCodeAt(at + 1);
      let end = at + 1;
      if (next === 33 || next === 63) end = this.declaration(at);
      else if (next === 47) end = isLetter(html.charCodeAt(at + 2)) ? this.endTag(at) : this.bogus(at, at + 2);
      else if (isLetter(next)) end = this.startTag(at);
      else end = this.stray(at);
      at = html.indexOf('<', end);
    }
    this.out.push(html.slice(this.from));
  }

  /** Leaves out what stands between two places. */
  private drop(start: number, end: number, instead = ''): number {
    this.out.push(this.html.slice(this.from, start), instead);
    this.from = end;
    return end;
  }

  /** A `<` that begins nothing is text; the parser makes a node of each. */
  private stray(at: number): number {
    this.strays += 1;
    return this.strays > mostStray ? this.drop(at, at + 1, '\uff1c') : at + 1;
  }

  /** A comment, doctype or processing instruction. */
  private declaration(at: number): number {
    const { html } = this;
    if (!html.startsWith('<!--', at)) return this.bogus(at, at + 2);
    if (html.startsWith('>', at + 4)) return this.drop(at, at + 5);
    if (html.startsWith('->', at + 4)) return this.drop(at, at + 6);
    const end = html.indexOf('-->', at + 4);
    return this.drop(at, end === -1 ? html.length : end + 3);
  }

  private bogus(at: number, from: number): number {
    const end = this.html.indexOf('>', from);
    return this.drop(at, end === -1 ? this.html.length : end + 1);
  }

  private nameAt(at: number): string {
    let end = at;
    const { html } = this;
    for (; end < html.length && end - at < 64; end += 1) {
      const code = html.charCodeAt(end);
      if (code <= 32 || code === 62 || code === 47) break;
    }
    return html.slice(at, end).toLowerCase();
  }

  private endTag(at: number): number {
    const name = this.nameAt(at + 2);
    const close = this.html.indexOf('>', at + 2);
    const end = close === -1 ? this.html.length : close + 1;
    if (frame.has(name)) return this.drop(at, end);
    const depth = this.open.lastIndexOf(name);
    // A stray end tag does nothing, except these two, which are elements of their own.
    if (depth === -1) return name === 'br' || name === 'p' ? this.drop(at, end, '<br>') : this.drop(at, end);
    this.open.length = depth;
    return end;
  }

  private startTag(at: number): number {
    const name = this.nameAt(at + 1);
    const { end, count, closed } = this.tagEnd(at + 1 + name.length);
    if (!closed) return this.drop(at, this.html.length);
    if (name === 'html') this.rootTag ||= this.html.slice(at, Math.min(end, at + 2000));
    if (frame.has(name)) return this.drop(at, end);
    if (raw.has(name)) return this.rawElement(at, end, name);
    if (name === 'plaintext') return this.drop(at, end);
    this.endParts(name, at);
    this.elements += 1;
    const isVoid = voids.has(name);
    if (this.elements > mostElements || (!isVoid && this.pushed(name) > mostDepth)) {
      this.bounded = true;
      return this.drop(at, end, inline.has(name) ? '' : '\n');
    }
    this.attributes += count;
    if (end - at > longestTag || this.attributes > mostAttributes || count > 1000) {
      this.attributes -= count;
      return this.drop(at, end, `<${name}>`);
    }
    return end;
  }

  /** Ends the parts of a table that a page left open, with what stands in them: the parser ends the last element only. */
  private endParts(name: string, at: number): void {
    const ended = ends.get(name);
    if (!ended || !this.open.includes('table')) return;
    const { within, parts } = ended;
    const around = this.open.findLastIndex((one) => within.includes(one));
    const open = this.open.findIndex((one, depth) => depth > around && parts.includes(one));
    if (open === -1) return;
    this.drop(at, at, `</${this.open[open]}>`);
    this.open.length = open;
  }

  /** Depth with one more element; one beyond the bound is not opened. */
  private pushed(name: string): number {
    const ended = closes.get(name);
    if (ended !== undefined) {
      const names = ended.split(' ');
      while (names.includes(this.open.at(-1) ?? '')) this.open.pop();
    }
    if (this.open.length >= mostDepth) return mostDepth + 1;
    return this.open.push(name);
  }

  private rawElement(at: number, end: number, name: string): number {
    const { html } = this;
    const close = this.missing.has(name) ? -1 : indexOfEnd(html, name, end);
    if (close === -1) {
      this.missing.add(name);
      return this.drop(at, html.length);
    }
    if (name === 'script') this.script(html.slice(at, Math.min(end, at + 500)), html.slice(end, close));
    if (name === 'style' && (this.styleUnits += close - end) <= mostStyle) this.styles.push(html.slice(end, close));
    const stop = html.indexOf('>', close);
    return this.drop(at, stop === -1 ? html.length : stop + 1, inline.has(name) ? '' : ' ');
  }

  private script(tag: string, text: string): void {
    const [, type] = /\btype\s*=\s*["']?\s*application\/(ld\+json|json)/i.exec(tag) ?? [];
    const kept = type === undefined ? undefined : type.toLowerCase() === 'json' ? this.data : this.jsonLd;
    if (kept === undefined) this.hasScripts = true;
    else if (kept.length < 20 && text.length < (kept === this.data ? 2_000_000 : 500_000)) kept.push(text);
  }

  /** Where a tag ends, and about how many attributes it has. Quotes count after `=` only. */
  private tagEnd(from: number): { end: number; count: number; closed: boolean } {
    const { html } = this;
    let count = 0;
    let before = 0;
    for (let at = from; at < html.length; at += 1) {
      const code = html.charCodeAt(at);
      if (code === 62) return { end: at + 1, count, closed: true };
      if ((code === 34 || code === 39) && before === 61) {
        const close = html.indexOf(code === 34 ? '"' : "'", at + 1);
        if (close === -1) return { end: html.length, count, closed: false };
        at = close;
        before = 0;
      } else if (code > 32) {
        before = code;
      } else if (before !== 61) {
        count += 1;
      }
    }
    return { end: html.length, count, closed: false };
  }
}

/** Index of `</name`, in any case, or -1. */
function indexOfEnd(html: string, name: string, from: number): number {
  const pattern = new RegExp(`</${name}(?=[\\s/>])`, 'gi');
  pattern.lastIndex = from;
  return pattern.exec(html)?.index ?? -1;
}

/** The parser makes a node of each entity: beyond so many they stay as they are written. */
function boundEntities(html: string): string {
  let count = 0;
  for (let at = html.indexOf('&'); at !== -1; at = html.indexOf('&', at + 1)) {
    count += 1;
    if (count > mostEntities) return html.slice(0, at) + html.slice(at).replaceAll('&', '\uff06');
  }
  return html;
}
