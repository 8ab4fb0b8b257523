import { Readability } from '@mozilla/readability';
import type { Block } from './blocks.ts';
import { Boilerplate } from './boilerplate.ts';
import { type DomNode, type Element, idAttribute, isWithin, lengthOf, type Tree } from './dom.ts';
import { SpanRoom } from './walk.spans.ts';
import { blocksOf } from './walk.ts';

/** Readability reads a page several times, and each element's text anew: beyond these its time is seconds. */
const mostNodes = 50_000;
const mostTextWork = 12_000_000;
/** Text of an element that Readability takes for content, by the element's id. */
type Kept = ReadonlyMap<number, number>;

/** Readability's verdict on a page. */
interface Verdict {
  /** The page's title without the site's name; `''` when unknown. */
  readonly title: string;
  readonly byline: string;
  readonly kept: Kept;
  readonly keptLength: number;
}

/** The main content of a page. */
export interface Article {
  readonly blocks: readonly Block[];
  /** As Readability has them; `''` when it was not asked. */
  readonly title: string;
  readonly byline: string;
}

/**
 * The main content. A page that says clearly where it stands (`<main>`, an `<article>`) is read there. Else Readability
 * finds the place, and the walk reads it, since Readability drops tables, code and lists; where it finds little, the walk
 * reads what the page has. Changes the document.
 */
export function articleOf(tree: Tree, base: string): Article {
  const main = mainOf(tree);
  const whole = contentLength(main, new Boilerplate(main));
  const isNamed = main !== tree.root;
  const isClear = isNamed && whole >= 500 && whole >= contentLength(tree.root, new Boilerplate(tree.root)) * 0.6;
  const isLarge = tree.nodes > mostNodes || tree.textWork > mostTextWork;
  const verdict = isClear || isLarge ? undefined : readability(tree);
  const root = verdict === undefined ? main : choose(tree, main, whole, verdict);
  const boilerplate = new Boilerplate(root);
  const found = blocksOf(root, { base, room: new SpanRoom(), drops: (element) => boilerplate.has(element) });
  // A page of nothing but forms or menus is these.
  const blocks = found.length > 0 ? found : blocksOf(tree.root, { base, room: new SpanRoom(), drops: () => false });
  return { blocks, title: verdict?.title ?? '', byline: verdict?.byline ?? '' };
}

function readability(tree: Tree): Verdict | undefined {
  try {
    for (const node of tree.navigation) node.remove();
    const found = new Readability<DomNode>(tree.document, {
      serializer: (node) => node,
      disableJSONLD: true,
      maxElemsToParse: mostNodes,
    }).parse();
    if (found?.content === null || found?.content === undefined) return undefined;
    const kept = keptIn(found.content);
    const keptLength = kept.values().reduce((sum, length) => sum + length, 0);
    return { title: found.title ?? '', byline: found.byline ?? '', kept, keptLength };
  } catch {
    // It throws on what it does not expect; the walk reads every tree.
    return undefined;
  }
}

/** Walks without recursion: this tree is Readability's. */
function keptIn(content: DomNode): Kept {
  const kept = new Map<number, number>();
  const stack: { node: DomNode; id: number }[] = [{ node: content, id: 0 }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (let child = at.node.firstChild; child !== null; child = child.nextSibling) {
      if (child.nodeType === 3) kept.set(at.id, (kept.get(at.id) ?? 0) + lengthOf(child.data));
      if (child.nodeType !== 1) continue;
      const id = child.getAttribute(idAttribute);
      stack.push({ node: child, id: id === null ? at.id : Number(id) });
    }
  }
  return kept;
}

/** The deepest element that holds nearly all that Readability kept. */
function holderOf({ root, elements }: Tree, { kept, keptLength }: Verdict): Element {
  const sums = new Float64Array(elements.length);
  for (const [id, length] of kept) if (id < sums.length) sums[id] = length;
  for (let id = elements.length - 1; id > 0; id -= 1) {
    const parent = elements[id]?.parent;
    if (parent !== undefined) sums[parent.id] = (sums[parent.id] ?? 0) + (sums[id] ?? 0);
  }
  let holder = root;
  for (let next: Element | undefined = root; next !== undefined; ) {
    holder = next;
    next = next.children.find(
      (child): child is Element => typeof child !== 'string' && (sums[child.id] ?? 0) >= keptLength * 0.95,
    );
  }
  return isContainer(holder) ? holder : (holder.parent ?? holder);
}

const isContainer = ({ tag }: Element): boolean =>
  !/^(?:p|ul|ol|dl|table|tbody|tr|pre|blockquote|span|a|h[1-6])$/.test(tag);

/** The page's own content element: `<main>`, the only `<article>`, else all of it. */
function mainOf({ root, elements }: Tree): Element {
  const mains = elements.filter(
    ({ tag, attributes }) => tag === 'main' || (tag === 'div' && attributes['role'] === 'main'),
  );
  const largest = mains.reduce<Element | undefined>(
    (best, one) => (one.textLength > (best?.textLength ?? 0) ? one : best),
    undefined,
  );
  const scope = largest ?? root;
  const articles = elements.filter((element) => element.tag === 'article' && isWithin(element, scope));
  const outer = articles.filter(({ parent }) => !isInArticle(parent));
  const [only] = outer;
  if (outer.length === 1 && only !== undefined && only.textLength > scope.textLength * 0.4) return only;
  return scope;
}

function isInArticle(element: Element | undefined): boolean {
  for (let at = element; at !== undefined; at = at.parent) if (at.tag === 'article') return true;
  return false;
}

/** Units of an element's text that are left when what surrounds content is dropped. */
function contentLength(element: Element, boilerplate: Boilerplate): number {
  let length = 0;
  for (const child of element.children) {
    if (typeof child === 'string') length += lengthOf(child);
    else if (!boilerplate.has(child)) length += contentLength(child, boilerplate);
  }
  return length;
}

/** The element to read: where Readability found the content, unless that is too little of what the page holds. */
function choose(tree: Tree, main: Element, whole: number, verdict: Verdict): Element {
  const isNamed = main !== tree.root;
  if (verdict.keptLength < 200 || whole < 200) return main;
  const holder = holderOf(tree, verdict);
  if (verdict.keptLength < whole * (isNamed ? 0.6 : 0.35)) return main;
  // A page that says where its content stands is right, as long as Readability finds it there too.
  if (isNamed && isWithin(holder, main)) return main;
  return isNamed && isWithin(main, holder) && whole > verdict.keptLength * 0.8 ? main : withTitle(holder);
}

/** The title often stands right before what Readability found: takes in a near parent that has one. */
function withTitle(holder: Element): Element {
  if (hasTitle(holder)) return holder;
  for (let at = holder.parent, steps = 0; at !== undefined && steps < 3; at = at.parent, steps += 1) {
    if (at.textLength > holder.textLength * 1.25 + 200) break;
    if (hasTitle(at)) return at;
  }
  return holder;
}

const hasTitle = (element: Element): boolean =>
  element.tag === 'h1' || element.children.some((child) => typeof child !== 'string' && hasTitle(child));
