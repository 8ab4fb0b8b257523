import type { Font } from 'fontkit';

/** Marks that show nothing by themselves: direction, joiners, variants, soft hyphens, tags of flags. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const box = '\u25a1';

/** Texts as a font can draw them: what it lacks becomes one box for each character that a reader would see. */
export class Glyphs {
  readonly #font: Font;
  readonly #segmenter = new Intl.Segmenter();
  readonly #known = new Map<number, boolean>();
  /** Whether a box stands for something in a text that was asked for. */
  isMissing = false;

  constructor(font: Font) {
    this.#font = font;
  }

  /** The text with composed letters, without marks that show nothing, with boxes for what the font lacks. */
  drawable(text: string): string {
    const composed = text.normalize('NFC');
    const shown = composed.replace(invisible, '');
    if (this.#hasAll(shown)) return shown;
    let drawn = '';
    for (const { segment } of this.#segmenter.segment(composed)) {
      const bare = segment.replace(invisible, '');
      const hasAll = this.#hasAll(bare);
      this.isMissing ||= !hasAll;
      drawn += hasAll ? bare : box;
    }
    return drawn;
  }

  #hasAll(text: string): boolean {
    for (const character of text) {
      const point = character.codePointAt(0) ?? 0;
      let has = this.#known.get(point);
      if (has === undefined) {
        has = this.#font.hasGlyphForCodePoint(point);
        this.#known.set(point, has);
      }
      if (!has) return false;
    }
    return true;
  }
}
