const headerBytes = 5;
const [query, sync, call, ready] = [...Buffer.from('QSFZ')] as [number, number, number, number];

/** Counts messages of some types in one direction of Postgres's protocol, wherever its bytes are cut into pieces. */
class Messages {
  readonly #types: readonly number[];
  readonly #header = Buffer.alloc(headerBytes);
  #held = 0;
  /** Bytes of the message that has begun which are still to come. */
  #left = 0;

  constructor(types: readonly number[]) {
    this.#types = types;
  }

  /** How many begin in these bytes. */
  count(bytes: Buffer): number {
    let found = 0;
    for (let at = 0; at < bytes.length; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        this.#left -= skipped;
        at += skipped;
        continue;
      }
      const taken = bytes.copy(this.#header, this.#held, at, at + headerBytes - this.#held);
      this.#held += taken;
      at += taken;
      if (this.#held < headerBytes) break;
      this.#held = 0;
      // The length counts itself, and not the type.
      this.#left = Math.max(0, this.#header.readUInt32BE(1) - 4);
      if (this.#types.includes(this.#header[0] as number)) found++;
    }
    return found;
  }
}

/**
 * The answers that a server still owes on one connection: a ReadyForQuery for the start-up, each Query, Sync and
 * FunctionCall. Several may be on their way, as a transaction's last statement and its commit are.
 */
export class Owed {
  readonly #asked = new Messages([query, sync, call]);
  readonly #answered = new Messages([ready]);
  #count = 0;
  /** Whether something was asked since all was answered; what is only flushed has no ReadyForQuery. */
  #isAsked = false;
  #isStarted = false;

  /** Whether the server has to say something. */
  get isAwaited(): boolean {
    return this.#isAsked;
  }

  /** Whole messages that are sent; the first has no type. */
  sent(bytes: Buffer): void {
    this.#count += this.#isStarted ? this.#asked.count(bytes) : 1;
    this.#isStarted = true;
    this.#isAsked = true;
  }

  heard(bytes: Buffer): void {
    const answers = this.#answered.count(bytes);
    this.#count = Math.max(0, this.#count - answers);
    if (answers > 0 && this.#count === 0) this.#isAsked = false;
  }
}
