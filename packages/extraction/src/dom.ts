import { DOMParser } from 'linkedom';
import { isFaded, isFadedBy, isHiddenBy, isUnseen, type Sheet, sheetOf } from './hidden.ts';
import type { Tidied } from './tidy.ts';

/** An element that is seen. Depth is at most that of `tidy`, so walks may recurse. */
export interface Element {
  readonly tag: string;
  /** Index in `Tree.elements`. */
  readonly id: number;
  readonly parent: Element | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: (Element | string)[];
  /** Units of its text without white space around words, and how many of them are in links. */
  textLength: number;
  linkLength: number;
}

/** Elements that begin and end a line. */
export const blockTags = new Set(
  (
    'address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup option p pre ' +
    'search section select summary table tbody tfoot thead tr ul'
  ).split(' '),
);

/** The used part of the parser's nodes. Typed here: its types need those of a browser. */
export interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly localName: string;
  readonly data: string;
  readonly firstChild: DomNode | null;
  readonly nextSibling: DomNode | null;
  readonly parentNode: DomNode | null;
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  remove(): void;
}

/** A document of the parser's. */
interface DomDocument extends DomNode {
  readonly body: DomNode;
  title: string;
}

/** A page as a tree of what is seen, and what its head says. */
export interface Tree {
  readonly document: DomDocument;
  readonly root: Element;
  readonly elements: readonly Element[];
  /** `title`, `meta`, `link`, `base`, in order, wherever they stand. */
  readonly head: readonly Element[];
  /** Elements of the document that are navigation for certain; Readability need not read them. */
  readonly navigation: readonly DomNode[];
  /** Nodes of the document. */
  readonly nodes: number;
  /** Units of the texts of all elements together: what a reader costs that asks each element for its text. */
  readonly textWork: number;
}

/** The attribute that ties an element of the parser's to one of the tree. */
export const idAttribute = 'data-n';

const headTags = new Set(['title', 'meta', 'link', 'base']);
const unseen = new Set(
  (
    'script style noscript template datalist object embed param source track iframe svg canvas audio video progress ' +
    'meter textarea del s strike'
  ).split(' '),
);
const kept = new Set(
  (
    'href src alt class id role style hidden aria-hidden lang content name property http-equiv rel datetime itemprop ' +
    'start colspan rowspan title data-lang data-language type open value reversed itemtype label shadowrootmode'
  ).split(' '),
);

/** Reads HTML into a tree, and takes what is not seen out of the document as well. */
export function treeOf({ html, styles }: Tidied): Tree {
  const text = `<!doctype html><html><head></head><body>${html}</body></html>`;
  const document = new DOMParser().parseFromString(text, 'text/html') as unknown as DomDocument;
  const builder = new Builder(sheetOf(styles));
  builder.walk(document.body);
  for (const node of builder.hidden) node.remove();
  const { root, elements, head, navigation, nodes } = builder;
  return { document, root, elements, head, navigation, nodes, textWork: measure(elements) };
}

class Builder {
  readonly elements: Element[] = [];
  readonly head: Element[] = [];
  readonly hidden: DomNode[] = [];
  readonly navigation: DomNode[] = [];
  nodes = 0;
  readonly root = this.make('body', undefined, {});
  private readonly sheet: Sheet;

  constructor(sheet: Sheet) {
    this.sheet = sheet;
  }

  /** Walks without recursion: the parser may nest deeper than `tidy` foresaw. */
  walk(body: DomNode): void {
    const parents: Element[] = [];
    let parent = this.root;
    let node: DomNode | null = body.firstChild;
    while (node !== null) {
      this.nodes += 1;
      const inside = node.nodeType === 1 ? this.enter(node, parent) : undefined;
      if (node.nodeType === 3 || node.nodeType === 4) addText(parent, node.data);
      const child = inside === undefined ? null : node.firstChild;
      if (inside !== undefined && child !== null) {
        parents.push(parent);
        parent = inside;
        node = child;
        continue;
      }
      while (node !== null && node.nextSibling === null) {
        node = node.parentNode;
        if (node === body || node === null) return;
        parent = parents.pop() ?? this.root;
      }
      node = node?.nextSibling ?? null;
    }
  }

  private make(tag: string, parent: Element | undefined, attributes: Readonly<Record<string, string>>): Element {
    const element = { tag, id: this.elements.length, parent, attributes, children: [], textLength: 0, linkLength: 0 };
    this.elements.push(element);
    return element;
  }

  /** The element of the tree, or undefined for one that is left out with all in it. */
  private enter(node: DomNode, parent: Element): Element | undefined {
    const tag = node.localName.toLowerCase();
    const attributes = attributesOf(node);
    if (headTags.has(tag)) {
      this.head.push({
        tag,
        id: -1,
        parent: undefined,
        attributes,
        children: textOf(node),
        textLength: 0,
        linkLength: 0,
      });
      this.hidden.push(node);
      return undefined;
    }
    // Browsers show such a template as part of the element around it.
    const isShown = tag === 'template' && /^(?:open|closed)$/i.test(attributes['shadowrootmode'] ?? '');
    if ((unseen.has(tag) && !isShown) || isHidden(node, tag, attributes, this.sheet)) {
      this.hidden.push(node);
      return undefined;
    }
    const element = this.make(isShown ? 'div' : tag, parent, attributes);
    parent.children.push(element);
    // The text of images is read from the tree; their sources can be made to cost Readability seconds.
    if (tag === 'nav' || tag === 'footer') this.navigation.push(node);
    if (tag === 'img') this.hidden.push(node);
    else node.setAttribute(idAttribute, `${element.id}`);
    return element;
  }
}

const textOf = (node: DomNode): string[] => {
  let text = '';
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.nodeType === 3) text += child.data;
    if (text.length > 10_000) break;
  }
  return [text];
};

function addText(parent: Element, text: string): void {
  const last = parent.children.length - 1;
  const before = parent.children[last];
  // The parser makes a node of every entity.
  if (typeof before === 'string') parent.children[last] = before + text;
  else parent.children.push(text);
}

function attributesOf(node: DomNode): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const { name, value } of node.attributes) {
    const lower = name.toLowerCase();
    if (kept.has(lower) && attributes[lower] === undefined) attributes[lower] = value;
  }
  return attributes;
}

function isHidden(node: DomNode, tag: string, attributes: Readonly<Record<string, string>>, sheet: Sheet): boolean {
  if (tag === 'dialog' && attributes['open'] === undefined) return true;
  const { hidden, style } = attributes;
  if (hidden !== undefined && hidden.toLowerCase() !== 'until-found') return true;
  if (attributes['aria-hidden']?.toLowerCase() === 'true') return true;
  if ((style !== undefined && isUnseen(style)) || isHiddenBy(sheet, tag, attributes)) return true;
  const fades = (style !== undefined && isFaded(style)) || isFadedBy(sheet, attributes);
  return fades && !holdsMore(node, mostFaded);
}

/** Units of text in a part that begins without opacity. */
const mostFaded = 200;

/** Whether a node holds more text than so many units. */
function holdsMore(node: DomNode, most: number): boolean {
  let units = 0;
  const waiting: (DomNode | null)[] = [node.firstChild];
  for (let seen = 0; waiting.length > 0 && seen < 1_000; seen += 1) {
    const child = waiting.pop();
    if (!child) continue;
    if (child.nodeType === 3) units += child.data.trim().length;
    if (units > most) return true;
    waiting.push(child.nextSibling, child.firstChild);
  }
  return waiting.length > 0;
}

/** Text and link lengths, from the last element to the first: children come after their parents. Returns `textWork`. */
function measure(elements: readonly Element[]): number {
  const units = new Float64Array(elements.length);
  let work = 0;
  for (let at = elements.length - 1; at >= 0; at -= 1) {
    const element = elements[at];
    if (element === undefined) continue;
    let own = units[at] ?? 0;
    for (const child of element.children) {
      if (typeof child === 'string') {
        element.textLength += lengthOf(child);
        own += child.length;
      } else {
        element.textLength += child.textLength;
        element.linkLength += child.linkLength;
      }
    }
    if (element.tag === 'a' && element.attributes['href'] !== undefined) element.linkLength = element.textLength;
    const parent = element.parent?.id ?? 0;
    if (at > 0) units[parent] = (units[parent] ?? 0) + own;
    work += own;
  }
  return work;
}

/** Units of a text with white space as one space, none at its ends. */
export function lengthOf(text: string): number {
  let length = 0;
  let isSpaced = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isSpace = code <= 32 || code === 0xa0;
    if (!isSpace || !isSpaced) length += 1;
    isSpaced = isSpace;
  }
  return isSpaced && length > 0 ? length - 1 : length;
}

/** Whether an element is the other or stands in it. */
export function isWithin(element: Element, other: Element): boolean {
  for (let at: Element | undefined = element; at !== undefined; at = at.parent) if (at === other) return true;
  return false;
}
