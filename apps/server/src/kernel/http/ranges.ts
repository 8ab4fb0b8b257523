/** Bytes from `start` to `end`, both inclusive. */
export interface Range {
  start: number;
  end: number;
}

/**
 * The one range of bytes that a `Range` header asks of `size` bytes (RFC 9110, 14.1.2). Undefined: all of them, as for a
 * header that asks for several or is malformed; null: none that is there.
 */
export function rangeOf(header: string | undefined, size: number): Range | null | undefined {
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? null : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start > end ? null : { start, end };
}
