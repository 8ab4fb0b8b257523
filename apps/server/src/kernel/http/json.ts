import { setImmediate as nextTurn } from 'node:timers/promises';
import { badRequest } from '../base/errors.ts';

/** Values inside of values: far beyond what people write, far below what a stack bears. */
export const deepest = 100;
/** Values of one body: as many small ones as 12 MiB hold (6 million) take a second and 400 MB to make. */
export const mostValues = 250_000;
/** Numbers of one body that stand in lists of nothing else, such as tokens: each costs 8 bytes, and no time to speak of. */
export const mostNumbers = 2_000_000;
/** The size of text that is parsed in one go: about 1 ms. */
const usualSliceBytes = 64 * 1024;

/** An array or object that is longer than a slice, and where it is cut. */
interface Container {
  isArray: boolean;
  /** Of its opening bracket. */
  start: number;
  /** Of its closing bracket. */
  end: number;
  /** Commas, and the brackets, between which a slice or one large value stands. */
  cuts: number[];
  /** The comma, or the opening bracket, before the member at hand. */
  memberAt: number;
  /** The next comma is a cut: a large member ends there. */
  isAfterLarge: boolean;
  large: Container[];
  /** Numbers of a list that holds nothing else so far; undefined for another container. */
  numbers: number | undefined;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/**
 * Reads JSON that a stranger sent. It goes over the bytes once as they come, refuses what is deeper than 100 values or
 * holds more than 250,000 of them before anything is made of it, and remembers where a long text can be cut, so that
 * `parse` makes its values in slices of 64 KiB and lets other requests through between them.
 */
export class JsonScanner {
  readonly #sliceBytes: number;
  readonly #stack: Container[] = [];
  #root: Container | undefined;
  #offset = 0;
  #values = 0;
  #numbers = 0;
  #isInString = false;
  #isEscaped = false;
  #isBroken = false;

  constructor(sliceBytes = usualSliceBytes) {
    this.#sliceBytes = sliceBytes;
  }

  /** Takes the next bytes. Throws 400 for what is too deep or holds too many values. */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInString = false;
      } else if (byte === quote) {
        this.#isInString = true;
        this.#notNumbers();
      } else if (byte === comma) this.#comma(this.#offset + at);
      else if (byte === 0x5b || byte === 0x7b) this.#open(this.#offset + at, byte === 0x5b);
      else if (byte === 0x5d || byte === 0x7d) this.#close(this.#offset + at, byte === 0x5d);
      // true, false, null; an exponent's `e` is left out.
      else if (byte === 0x74 || byte === 0x66 || byte === 0x6e) this.#notNumbers();
    }
    this.#offset += bytes.length;
  }

  /** The value of all bytes together. Throws a `SyntaxError` for what is not JSON. */
  async parse(bytes: Buffer): Promise<unknown> {
    const root = this.#root;
    if (!root || this.#isBroken) return parseSlice(bytes.toString('utf8'));
    // Nothing but white space may stand around a root that is cut.
    if (/[^ \t\r\n]/.test(bytes.toString('latin1', 0, root.start) + bytes.toString('latin1', root.end + 1)))
      throw notJson();
    return parseContainer(bytes, root);
  }

  #open(at: number, isArray: boolean): void {
    if (this.#stack.length >= deepest) {
      throw badRequest(`the body holds values inside of each other more than ${deepest} deep; send a flatter one`);
    }
    this.#notNumbers();
    this.#count();
    const numbers = isArray ? 0 : undefined;
    this.#stack.push({
      isArray,
      start: at,
      end: at,
      cuts: [at],
      memberAt: at,
      isAfterLarge: false,
      large: [],
      numbers,
    });
  }

  #comma(at: number): void {
    const top = this.#stack.at(-1);
    if (top?.numbers === undefined) this.#count();
    else this.#countNumber(top);
    if (!top) return;
    if (top.isAfterLarge || at - (top.cuts.at(-1) as number) > this.#sliceBytes) cutAt(top, at);
    top.isAfterLarge = false;
    top.memberAt = at;
  }

  #close(at: number, isArray: boolean): void {
    const closed = this.#stack.pop();
    // Brackets that do not match: the parser says so, in one go.
    if (!closed || closed.isArray !== isArray) {
      this.#isBroken = true;
      return;
    }
    closed.end = at;
    if (at - closed.start <= this.#sliceBytes) return;
    cutAt(closed, at);
    const parent = this.#stack.at(-1);
    if (!parent) {
      if (this.#root) this.#isBroken = true;
      this.#root = closed;
      return;
    }
    cutAt(parent, parent.memberAt);
    parent.large.push(closed);
    parent.isAfterLarge = true;
  }

  #countNumber(list: Container): void {
    list.numbers = (list.numbers ?? 0) + 1;
    this.#numbers += 1;
    if (this.#numbers > mostNumbers)
      throw badRequest(`the body holds more than ${mostNumbers.toLocaleString('en')} numbers; send fewer at once`);
  }

  /** The list at hand holds something else too: what it held so far counts as any value. */
  #notNumbers(): void {
    const top = this.#stack.at(-1);
    if (top?.numbers === undefined) return;
    const { numbers } = top;
    top.numbers = undefined;
    this.#numbers -= numbers;
    this.#count(numbers);
  }

  #count(more = 1): void {
    this.#values += more;
    if (this.#values > mostValues) {
      throw badRequest(`the body holds more than ${mostValues.toLocaleString('en')} values; send fewer at once`);
    }
  }
}

/** The value of a body of at most 64 KiB. Throws as `JsonScanner` does. */
export function parseAtOnce(bytes: Buffer): unknown {
  // Fewer bytes than that hold nothing that is too deep.
  if (bytes.length > deepest) new JsonScanner().push(bytes);
  return parseSlice(bytes.toString('utf8'));
}

function cutAt(container: Container, at: number): void {
  if (at > (container.cuts.at(-1) as number)) container.cuts.push(at);
}

async function parseContainer(bytes: Buffer, { isArray, cuts, large }: Container): Promise<unknown> {
  const array: unknown[] = [];
  const object: Record<string, unknown> = {};
  const rest = large.values();
  let next = rest.next().value;
  for (let i = 1; i < cuts.length; i += 1) {
    const [from, to] = [(cuts[i - 1] as number) + 1, cuts[i] as number];
    if (next && next.start < to) {
      const value = await parseContainer(bytes, next);
      // The text around it is `"key":`, or nothing.
      const around = `${bytes.toString('utf8', from, next.start)}null${bytes.toString('utf8', next.end + 1, to)}`;
      if (isArray) {
        parseSlice(`[${around}]`);
        array.push(value);
      } else {
        const [key] = Object.keys(parseSlice(`{${around}}`) as object);
        if (key === undefined || (key === 'constructor' && Object.hasOwn(value as object, 'prototype')))
          throw notJson();
        object[key] = value;
      }
      next = rest.next().value;
      continue;
    }
    const text = bytes.toString('utf8', from, to);
    // `[1,]` cut at its comma would be `[1]` and `[]`.
    if (cuts.length > 2 && text.trim() === '') throw notJson();
    if (isArray) for (const one of parseSlice(`[${text}]`) as unknown[]) array.push(one);
    else Object.assign(object, parseSlice(`{${text}}`));
    await nextTurn();
  }
  return isArray ? array : object;
}

/** A key that would change what an object inherits is refused, however it is spelled. */
function parseSlice(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (/__proto__|constructor|\\u00/i.test(text)) refusePrototypes(value);
  return value;
}

function refusePrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Object.hasOwn(value, '__proto__')) throw notJson();
  const own = Object.hasOwn(value, 'constructor') ? (value as { constructor: unknown }).constructor : undefined;
  if (typeof own === 'object' && own !== null && Object.hasOwn(own, 'prototype')) throw notJson();
  for (const one of Object.values(value)) refusePrototypes(one);
}

const notJson = (): SyntaxError => new SyntaxError('not JSON');
