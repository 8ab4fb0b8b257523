import type { z } from 'zod';
import { inSlices } from '../base/slices.ts';

/** An answer of more values is checked and written in slices: it takes about 5 ms for each 5,000 of them. */
const mostAtOnce = 5_000;
/** Values of one step, which takes well under a millisecond. */
const mostOfStep = 250;
/** So many letters count as one value. */
const lettersOfValue = 64;
const pieceBytes = 64 * 1024;

/** A long answer as it goes out: checked, and written as JSON. */
export class LongAnswer {
  readonly pieces: readonly Buffer[];
  readonly bytes: number;

  constructor(pieces: readonly Buffer[]) {
    this.pieces = pieces;
    this.bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  }
}

/** Checks an answer: its value, or its JSON where it is long. Throws for one that its schema does not have. */
export async function checkAnswer(schema: z.ZodType, body: unknown): Promise<unknown> {
  return isLong(body) ? new LongAnswer(await inSlices(piecesOf(schema, body))) : schema.parse(body);
}

/** Whether a value holds more than `most` values; looks at no more than these. */
export function isLong(value: unknown, most = mostAtOnce): boolean {
  let left = most;
  const count = (one: unknown): boolean => {
    left -= typeof one === 'string' ? 1 + Math.floor(one.length / lettersOfValue) : 1;
    if (left < 0) return true;
    if (typeof one !== 'object' || one === null) return false;
    if (Array.isArray(one)) return one.some(count);
    for (const name in one) if (count((one as Record<string, unknown>)[name])) return true;
    return false;
  };
  return count(value);
}

/** The JSON of a value as its schema answers it, in pieces; each step checks and writes a few of its values. */
function* piecesOf(schema: z.ZodType, body: unknown): Generator<void, Buffer[]> {
  const pieces: Buffer[] = [];
  let text = '';
  for (const part of textOf(schema, body)) {
    text += part;
    if (text.length >= pieceBytes) {
      pieces.push(Buffer.from(text));
      text = '';
    }
    yield;
  }
  pieces.push(Buffer.from(text));
  return pieces;
}

/** The same texts as `JSON.stringify(schema.parse(value))`, one after another. */
export function* textOf(schema: z.ZodType, value: unknown): Generator<string> {
  const bare = bareOf(schema, value);
  if (bare && Array.isArray(value) && bare.type === 'array') {
    let before = '[';
    for (const one of value as unknown[]) {
      yield before;
      // A list has no holes: JSON writes null for what is absent.
      let isEmpty = true;
      for (const part of textOf(bare.element, one)) {
        isEmpty = false;
        yield part;
      }
      if (isEmpty) yield 'null';
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
  } else if (bare?.type === 'object') {
    let before = '{';
    for (const [name, inner] of Object.entries(bare.shape)) {
      let key = `${before}${JSON.stringify(name)}:`;
      for (const part of textOf(inner, (value as Record<string, unknown>)[name])) {
        yield key + part;
        key = '';
      }
      if (key === '') before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else {
    const text = JSON.stringify(schema.parse(value)) as string | undefined;
    if (text !== undefined) yield text;
  }
}

type Bare = { type: 'array'; element: z.ZodType } | { type: 'object'; shape: Record<string, z.ZodType> };

/** What a schema has of zod's own, of the kinds that are looked into. */
interface Def {
  type: string;
  checks?: readonly unknown[];
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
}

/** The array or object that a schema asks for; undefined where a value is short, or is checked only as a whole. */
function bareOf(schema: z.ZodType, value: unknown): Bare | undefined {
  if (typeof value !== 'object' || value === null || !isLong(value, mostOfStep)) return undefined;
  const { type, checks = [], innerType, element, shape, catchall } = schema.def as unknown as Def;
  if (checks.length > 0) return undefined;
  if ((type === 'nullable' || type === 'optional' || type === 'default') && innerType) return bareOf(innerType, value);
  if (type === 'array' && element && Array.isArray(value)) return { type, element };
  if (type !== 'object' || !shape || Array.isArray(value)) return undefined;
  const isStrict = catchall?.def.type === 'never';
  if (catchall && !isStrict) return undefined;
  // What a strict one refuses is refused as a whole.
  return isStrict && Object.keys(value).some((name) => !Object.hasOwn(shape, name)) ? undefined : { type, shape };
}
