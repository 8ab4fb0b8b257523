const [carriageReturn, lineFeed, tilde, dot] = [0x0d, 0x0a, 0x7e, 0x2e];

/** Looks for Enter ~ . in what is typed, as ssh does; Enter ~ ~ is one ~. */
export class EscapeReader {
  #isLineStart = true;
  /** A ~ at the beginning of a line, which is not sent yet. */
  #isHeld = false;

  /** What is to be sent; undefined once the keys for the end were typed. */
  read(chunk: Buffer): Buffer | undefined {
    const sent: number[] = [];
    for (const byte of chunk) {
      if (this.#isHeld) {
        this.#isHeld = false;
        if (byte === dot) return undefined;
        this.#isLineStart = false;
        sent.push(tilde);
        if (byte === tilde) continue;
      } else if (this.#isLineStart && byte === tilde) {
        this.#isHeld = true;
        continue;
      }
      sent.push(byte);
      this.#isLineStart = byte === carriageReturn || byte === lineFeed;
    }
    return Buffer.from(sent);
  }
}
