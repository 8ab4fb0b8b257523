import { partingOf, wouldJoin } from './partings.ts';
import { mostUnits } from './blocks.ts';
import type { Element } from './dom.ts';
import { collapse, cut } from './text.ts';

/** Elements that begin and end a line. */
export const blockTags = new Set(
  (
    'address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup option p pre ' +
    'search section select summary table tbody tfoot thead tr ul'
  ).split(' '),
);
const cells = new Set(['td', 'th']);

/**
 * All text that a reader sees, navigation too, a block a line; cells of a row stand a tab apart. What a page hides is
 * not in it. At most 1,000,000 units.
 */
export function visibleText(root: Element): string {
  const lines = new Lines();
  visit(root, lines, false);
  return lines.text();
}

class Lines {
  private readonly done: string[] = [];
  private line = '';
  private units = 0;

  private parting = '';

  add(text: string): void {
    if (text === '') return;
    this.line += wouldJoin(this.line.slice(-1), text) ? this.parting + text : text;
    this.parting = '';
  }

  /** Figures on both sides of this place are two numbers. */
  part(sign: string): void {
    this.parting = sign;
  }

  end(): void {
    const line = collapseLine(this.line);
    this.line = '';
    if (line === '' || this.units > mostUnits) return;
    this.units += line.length + 1;
    this.done.push(line);
  }

  text(): string {
    this.end();
    return cut(this.done.join('\n'), mostUnits);
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
      visit(child, lines, isVerbatim || child.tag === 'pre');
      lines.end();
    } else {
      const sign = partingOf(child.tag);
      if (sign !== undefined) lines.part(sign);
      visit(child, lines, isVerbatim);
      if (sign !== undefined) lines.part(' ');
    }
  }
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
