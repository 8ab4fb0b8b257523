import { partingOf, wouldJoin } from './partings.ts';
import { mostUnits } from './blocks.ts';
import { blockTags, type Element } from './dom.ts';
import { collapse, cut } from './text.ts';
import { isCodeLine } from './walk.code.ts';

const cells = new Set(['td', 'th']);
/** Elements that end the scope of a heading inside them. */
const sections = new Set('article aside footer header main nav section details blockquote table'.split(' '));

/** All that a reader of a page sees. */
interface Visible {
  /** A block a line, navigation too; cells of a row stand a tab apart. At most 1,000,000 units. */
  readonly text: string;
  /**
   * For each line the lines that say what it is: the headings over it, the sentence before a list, the head of a table, the
   * term of a definition. Alone a line may say the opposite: `Not covered:` stands above it.
   */
  readonly outline: readonly (readonly number[])[];
}

/** Reads what a reader sees; what a page hides is not in it. */
export function visibleOf(root: Element): Visible {
  const lines = new Lines();
  visit(root, lines, false);
  return lines.visible();
}

/** The text alone. */
export const visibleText = (root: Element): string => visibleOf(root).text;

/** Of a line that stands above others; a longer one is a text of its own. */
const longestAbove = 300;
/** Lines above one; of more those nearest to it. */
const mostAbove = 8;
/** A bold line of its own is a heading below the others. */
const boldLevel = 7;

class Lines {
  private readonly done: string[] = [];
  private readonly outline: number[][] = [];
  private line = '';
  /** Its last unit: to ask the line itself copies all of it. */
  private tail = '';
  private units = 0;
  private parting = '';
  /** Headings over what comes, by level. */
  private headings: { level: number; line: number }[] = [];
  /** Further lines over what comes, from outside to inside. */
  private readonly over: number[] = [];

  add(text: string): void {
    if (text === '') return;
    const own = wouldJoin(this.tail, text, this.parting) ? this.parting + text : text;
    this.line += own;
    this.tail = own.slice(-1);
    this.parting = '';
  }

  /** Figures on both sides of this place are two numbers. */
  part(sign: string): void {
    this.parting = sign;
  }

  end(): void {
    const line = collapseLine(this.line);
    this.line = '';
    this.tail = '';
    if (line === '' || this.units > mostUnits) return;
    const before = this.last();
    const isLed = before !== undefined && this.done[before]?.endsWith(':');
    const above = [...this.headings.map((heading) => heading.line), ...this.over, ...(isLed ? [before] : [])].slice(
      -mostAbove,
    );
    this.units += line.length + 1;
    this.done.push(line);
    this.outline.push([...new Set(above)]);
  }

  /** The last line; undefined: none. */
  last(): number | undefined {
    return this.done.length === 0 ? undefined : this.done.length - 1;
  }

  /** The last line, when it may stand above others; with `colon` only one that says so. */
  leading(colon: boolean): number[] {
    const last = this.last();
    const line = last === undefined ? '' : (this.done[last] ?? '');
    return last === undefined || line.length > longestAbove || (colon && !line.endsWith(':')) ? [] : [last];
  }

  /** Does some work with further lines over what it adds; headings of it end with it where it is a section. */
  within(above: readonly number[], isSection: boolean, work: () => void): void {
    const [headings, before] = [this.headings, this.over.length];
    this.over.push(...above);
    work();
    this.over.length = before;
    if (isSection) this.headings = headings;
  }

  /** Adds a heading: it stands over what comes until one of its level. */
  heading(level: number, work: () => void): void {
    this.headings = this.headings.filter((heading) => heading.level < level);
    const before = this.done.length;
    work();
    // The page's own title says nothing that its sentences need.
    if (this.done.length > before && level > 1) this.headings = [...this.headings, { level, line: before }];
  }

  visible(): Visible {
    this.end();
    return { text: cut(this.done.join('\n'), mostUnits), outline: this.outline };
  }
}

/** White space as one space, except the tab between two cells. */
const collapseLine = (line: string): string =>
  line
    .split('\0')
    .map((part) => collapse(part).trim())
    .filter((part) => part !== '')
    .join('\t');

function visit(element: Element, lines: Lines, isVerbatim: boolean): void {
  for (const child of element.children) {
    if (typeof child === 'string') addText(child, lines, isVerbatim);
    else if (child.tag === 'br') lines.end();
    else if (cells.has(child.tag)) {
      lines.add('\0');
      visit(child, lines, false);
      lines.add('\0');
    } else if (blockTags.has(child.tag)) {
      lines.end();
      visitBlock(child, lines, isVerbatim);
      lines.end();
    } else if (isVerbatim && isCodeLine(child)) {
      lines.end();
      visit(child, lines, isVerbatim);
      lines.end();
    } else {
      const sign = partingOf(child.tag);
      if (sign !== undefined) lines.part(sign);
      visit(child, lines, isVerbatim);
      if (sign !== undefined) lines.part(' ');
    }
  }
}

function visitBlock(block: Element, lines: Lines, isVerbatim: boolean): void {
  const { tag } = block;
  const whole = (): void => {
    visit(block, lines, isVerbatim || tag === 'pre');
    lines.end();
  };
  const level = /^h([1-6])$/.exec(tag)?.[1] ?? (isBold(block) ? boldLevel : undefined);
  if (level !== undefined) lines.heading(Number(level), whole);
  else if (tag === 'table') lines.within(lines.leading(true), true, () => visitTable(block, lines));
  else if (tag === 'dl') lines.within(lines.leading(true), false, () => visitTerms(block, lines));
  else if (tag === 'ul' || tag === 'ol' || tag === 'menu') lines.within(lines.leading(false), false, whole);
  else if (tag === 'blockquote') lines.within(lines.leading(true), true, whole);
  else if (tag === 'details') lines.within([], true, () => visitDetails(block, lines));
  else lines.within([], sections.has(tag), whole);
}

const elementsOf = ({ children }: Element): Element[] => children.filter((child) => typeof child !== 'string');
const mostBold = 120;

/** Whether a paragraph is one short bold text: pages head their parts by such. */
function isBold({ tag, children, textLength }: Element): boolean {
  if ((tag !== 'p' && tag !== 'div') || textLength === 0 || textLength > mostBold) return false;
  const parts = children.filter((child) => typeof child !== 'string' || child.trim() !== '');
  const [only] = parts;
  return parts.length === 1 && typeof only === 'object' && (only.tag === 'b' || only.tag === 'strong');
}

/** The rows of a table, below its caption, its row of heads, and a row of one cell that parts it. */
function visitTable(table: Element, lines: Lines): void {
  let [heads, part]: [number[], number[]] = [[], []];
  const row = (tr: Element): void => {
    const own = elementsOf(tr).filter(({ tag }) => cells.has(tag));
    const filled = own.filter(({ textLength }) => textLength > 0);
    const isHead = filled.length > 0 && filled.every(({ tag }) => tag === 'th');
    const isPart = own.length > 0 && filled.length === 1 && (isHead || own.length > 1);
    lines.end();
    lines.within([...heads, ...(isPart || isHead ? [] : part)], false, () => visit(tr, lines, false));
    const before = lines.last();
    lines.within([...heads, ...(isPart || isHead ? [] : part)], false, () => lines.end());
    const after = lines.last();
    if (after === undefined || after === before) return;
    if (isPart) part = [after];
    else if (isHead) heads = [after];
  };
  const group = (element: Element): void => {
    for (const child of element.children) {
      if (typeof child === 'string') lines.add(child);
      else if (child.tag === 'tr') row(child);
      else if (child.tag === 'caption') {
        visit(child, lines, false);
        lines.end();
        heads = lines.leading(false);
      } else if (/^t(?:head|body|foot)$/.test(child.tag)) group(child);
      else lines.within(heads, false, () => visitBlock(child, lines, false));
    }
  };
  group(table);
}

/** Definitions below their terms. */
function visitTerms(list: Element, lines: Lines): void {
  let terms: number[] = [];
  let isTerm = false;
  const group = (element: Element): void => {
    for (const child of element.children) {
      if (typeof child === 'string') {
        lines.add(child);
        continue;
      }
      if (child.tag === 'div') {
        group(child);
        continue;
      }
      const isNext = child.tag === 'dt';
      if (isNext && !isTerm) terms = [];
      isTerm = isNext;
      lines.within(isNext ? [] : terms, false, () => visitBlock(child, lines, false));
      lines.end();
      if (isNext) terms = [...terms, ...lines.leading(false)];
    }
  };
  group(list);
}

/** The content of `<details>` stands below its summary. */
function visitDetails(details: Element, lines: Lines): void {
  const summary = elementsOf(details).find(({ tag }) => tag === 'summary');
  if (summary) visitBlock(summary, lines, false);
  lines.end();
  const rest = { ...details, children: details.children.filter((child) => child !== summary) };
  lines.within(summary ? lines.leading(false) : [], false, () => {
    visit(rest, lines, false);
    lines.end();
  });
}

function addText(text: string, lines: Lines, isVerbatim: boolean): void {
  if (!isVerbatim) {
    lines.add(text);
    return;
  }
  for (const [at, line] of text.split('\n').entries()) {
    if (at > 0) lines.end();
    lines.add(line);
  }
}
