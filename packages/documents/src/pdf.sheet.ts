import type { Glyphs } from './pdf.glyphs.ts';
import { hasRightToLeft, isRightToLeft, linesOf, onPaper, type Word } from './pdf.lines.ts';

/** Page: A4 in points. */
export const page = { width: 595.28, height: 841.89, side: 60, top: 60, bottom: 68 };
const bodyWidth = page.width - 2 * page.side;

/** How a piece of text is drawn. */
export interface Style {
  font: 'plain' | 'bold';
  size: number;
  color: string;
}

/** A paragraph: its pieces follow each other on one line if they fit. */
export interface Paragraph {
  pieces: readonly { text: string; style: Style }[];
  /** Points from the left edge of the body. */
  indent?: number;
  /** Drawn left of the first line, at the left edge of the body. */
  lead?: { text: string; style: Style; at?: number };
  /** Whether it runs from right to left; if unset its first piece decides. */
  turned?: boolean;
  /** Points below it. */
  after: number;
}

const leading = 1.42;

/** Draws paragraphs down one page and on to the next. pdfkit's own wrapping takes quadratic time for a long word. */
export class Sheet {
  readonly doc: PDFKit.PDFDocument;
  readonly #glyphs: Glyphs;
  readonly #widths = new Map<Style, Map<string, number>>();
  #y = page.top;

  constructor(doc: PDFKit.PDFDocument, glyphs: Glyphs) {
    this.doc = doc;
    this.#glyphs = glyphs;
  }

  /** Begins a new page unless so many points are left. */
  keep(points: number): void {
    if (this.#y + points > page.height - page.bottom) this.#turn();
  }

  /** Leaves points empty, not at the head of a page. */
  space(points: number): void {
    if (this.#y > page.top) this.#y += points;
  }

  /** A thin line across the page. */
  rule(color: string): void {
    this.doc.markContent('Artifact', { type: 'Layout' });
    this.doc
      .moveTo(page.side, this.#y)
      .lineTo(page.width - page.side, this.#y)
      .lineWidth(0.6)
      .strokeColor(color)
      .stroke();
    this.doc.endMarkedContent();
  }

  /** Draws a paragraph; goes to the next page between two of its lines when there is no room. */
  paragraph({ pieces, indent = 0, lead, after, turned = isRightToLeft(pieces[0]?.text ?? '') }: Paragraph): void {
    const width = bodyWidth - indent;
    const size = Math.max(...pieces.map(({ style }) => style.size));
    const height = size * leading;
    const first = pieces[0]?.style;
    if (first === undefined) return;
    const space = this.#widthOf(' ', first);
    const words = pieces.flatMap(({ text, style }) => [...this.#words(text, style, width)]);
    for (const [at, line] of linesOf(words, width, space).entries()) {
      this.keep(height);
      if (at === 0 && lead !== undefined) {
        const drop = (size - lead.style.size) * 0.92;
        this.#draw(lead.text, lead.style, page.side + (lead.at ?? 0), this.#y + drop);
      }
      const from = turned ? width - this.#usedBy(line, space) : 0;
      this.#drawLine(onPaper(line, turned), page.side + indent + from, this.#y, space);
      this.#y += height;
    }
    this.#y += after;
  }

  /** Draws one line at a height of the page, at the left or the right edge of the body, without moving on. */
  mark(text: string, style: Style, y: number, edge: 'left' | 'right'): void {
    const space = this.#widthOf(' ', style);
    const words = [...this.#words(text, style, bodyWidth)];
    const used = this.#usedBy(words, space);
    const line = onPaper(words, isRightToLeft(text));
    this.#drawLine(line, edge === 'left' ? page.side : page.width - page.side - used, y, space);
  }

  #turn(): void {
    this.doc.continueOnNewPage();
    this.#y = page.top;
  }

  #usedBy(line: readonly Word<Style>[], space: number): number {
    return line.reduce((sum, word) => sum + word.width, 0) + space * (line.length - 1);
  }

  /** Words of one style go out together; a word from right to left by itself, or its space would stand on its other side. */
  #drawLine(line: readonly Word<Style>[], from: number, y: number, space: number): void {
    let x = from;
    let at = 0;
    while (at < line.length) {
      const word = line[at++];
      if (word === undefined) return;
      let { text, width } = word;
      while (!hasRightToLeft(text) && line[at]?.style === word.style && !hasRightToLeft(line[at]?.text ?? '')) {
        text += ` ${line[at]?.text ?? ''}`;
        width += space + (line[at++]?.width ?? 0);
      }
      this.#draw(text, word.style, x, y);
      x += width + space;
    }
  }

  #draw(text: string, style: Style, x: number, y: number): void {
    this.doc.font(style.font).fontSize(style.size).fillColor(style.color).text(text, x, y, { lineBreak: false });
  }

  /** The words of a text; one that is wider than a line comes in parts. */
  *#words(text: string, style: Style, most: number): Generator<Word<Style>> {
    for (const word of this.#glyphs.drawable(text).split(' ')) {
      if (word === '') continue;
      const isLong = word.length > 200;
      const width = isLong ? Infinity : this.#widthOf(word, style);
      if (width <= most) yield { text: word, width, style };
      else yield* this.#parts(word, style, most);
    }
  }

  *#parts(word: string, style: Style, most: number): Generator<Word<Style>> {
    let part = '';
    let used = 0;
    for (const character of word) {
      const width = this.#widthOf(character, style);
      if (part !== '' && used + width > most) {
        yield { text: part, width: used, style };
        part = '';
        used = 0;
      }
      part += character;
      used += width;
    }
    if (part !== '') yield { text: part, width: used, style };
  }

  #widthOf(text: string, style: Style): number {
    let widths = this.#widths.get(style);
    if (widths === undefined) {
      widths = new Map();
      this.#widths.set(style, widths);
    }
    let width = widths.get(text);
    if (width === undefined) {
      width = this.doc.font(style.font).fontSize(style.size).widthOfString(text);
      widths.set(text, width);
    }
    return width;
  }
}
