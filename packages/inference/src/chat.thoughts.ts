/** A little more than any answer has thoughts. */
const apart = 1 / 4_096;
interface ToldThought {
  place: number;
  text: string;
}

/** Thoughts that a stream told without a signature, or several as one: their signatures may come at the end of all. */
export class UnsignedThoughts {
  readonly #all: ToldThought[] = [];
  /** The one that was asked for last. */
  #last: ToldThought | undefined;

  /** A thought that ended, with the block that it is. */
  push(index: number, text: string): void {
    this.#all.push({ place: index, text });
  }

  /**
   * Where the thought with this text was told: its block, or right behind that where another of it came before. One
   * that shows nothing stands behind the one before it.
   */
  placeOf(text: string): number | undefined {
    const told = text === '' ? this.#last : this.#all.find((one) => one.text.startsWith(text));
    if (!told) return undefined;
    this.#last = told;
    const { place } = told;
    told.text = told.text.slice(text.length);
    told.place += apart;
    return place;
  }
}
