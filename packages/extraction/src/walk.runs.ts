import type { Run } from './blocks.ts';
import { wouldJoin } from './partings.ts';

/** Style that the elements around a text give it. */
export type Marks = Omit<Run, 'text'>;

/** Collects the runs of a paragraph: one space between words, none at its ends. */
export class RunBuffer {
  private runs: { text: string; marks: Marks }[] = [];
  private images: string[] = [];
  /** The text so far ends with white space, or is empty. */
  private isSpaced = true;
  private parting = '';

  /** Figures on both sides of this place are two numbers. */
  part(sign: string): void {
    this.parting = sign;
  }

  /** Adds text whose white space is collapsed. */
  add(text: string, marks: Marks): void {
    const bare = this.isSpaced && text.startsWith(' ') ? text.slice(1) : text;
    if (bare === '') return;
    const own = wouldJoin(this.runs.at(-1)?.text.slice(-1) ?? '', bare, this.parting) ? this.parting + bare : bare;
    this.parting = '';
    this.isSpaced = own.endsWith(' ');
    const last = this.runs.at(-1);
    if (last !== undefined && isSame(last.marks, marks)) last.text += own;
    else this.runs.push({ text: own, marks });
  }

  lineBreak(): void {
    if (this.runs.length === 0) return;
    this.trimEnd();
    this.add('\n', {});
    this.isSpaced = true;
  }

  /** An image's text; it follows the paragraph. */
  image(alt: string): void {
    if (alt !== '' && alt.length <= 1000 && this.images.length < 100) this.images.push(alt);
  }

  /** The collected runs; the buffer is empty again. */
  take(): { runs: Run[]; images: string[] } {
    this.trimEnd();
    const taken = { runs: this.runs.map(({ text, marks }) => ({ text, ...marks })), images: this.images };
    this.runs = [];
    this.images = [];
    this.isSpaced = true;
    return taken;
  }

  private trimEnd(): void {
    for (let last = this.runs.at(-1); last !== undefined; last = this.runs.at(-1)) {
      last.text = last.text.trimEnd();
      if (last.text !== '') return;
      this.runs.pop();
    }
  }
}

const isSame = (a: Marks, b: Marks): boolean =>
  a === b || (a.href === b.href && a.code === b.code && a.strong === b.strong && a.emphasis === b.emphasis);
