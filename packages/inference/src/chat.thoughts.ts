/** A little more than any answer has thoughts. */
const apart = 1 / 4_096;
/** Thoughts that are looked through, behind the first that is not signed, for one that is the begin of several. */
const mostTried = 16;
interface ToldThought {
  place: number;
  text: string;
}

/** Thoughts that a stream told without a signature, or several as one: their signatures may come at the end of all. */
export class UnsignedThoughts {
  readonly #all: ToldThought[] = [];
  /** Those that wait for their signature by what they said, in the order in which they were told, and how many do not. */
  readonly #byText = new Map<string, { told: ToldThought[]; past: number }>();
  /** All before it are signed. */
  #first = 0;
  /** The one that was asked for last. */
  #last: ToldThought | undefined;

  /** A thought that ended, with the block that it is. */
  push(index: number, text: string): void {
    const told = { place: index, text };
    this.#all.push(told);
    const same = this.#byText.get(text);
    if (same) same.told.push(told);
    else this.#byText.set(text, { told: [told], past: 0 });
  }

  /**
   * Where the thought with this text was told: its block, or right behind that where another of it came before. One
   * that shows nothing stands behind the one before it.
   */
  placeOf(text: string): number | undefined {
    const told = text === '' ? this.#last : (this.#rest(text) ?? this.#whole(text) ?? this.#begun(text));
    if (!told) return undefined;
    this.#last = told;
    const { place } = told;
    told.text = told.text.slice(text.length);
    told.place += apart;
    return place;
  }

  /** More of the thought that was asked for last. */
  #rest(text: string): ToldThought | undefined {
    return this.#last?.text.startsWith(text) ? this.#last : undefined;
  }

  #whole(text: string): ToldThought | undefined {
    const same = this.#byText.get(text);
    for (let at = same?.past ?? 0; ; at++) {
      const told = same?.told[at];
      if (!same || !told) return undefined;
      same.past = at + 1;
      // Of some a part is signed already.
      if (told.text === text) return told;
    }
  }

  #begun(text: string): ToldThought | undefined {
    while (this.#all[this.#first]?.text === '') this.#first += 1;
    return this.#all.slice(this.#first, this.#first + mostTried).find((one) => one.text.startsWith(text));
  }
}
