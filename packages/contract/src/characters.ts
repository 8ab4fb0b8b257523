/** Bytes of UTF-8 that were cut somewhere, at the edge of a character: of half a one people see U+FFFD. */

const isContinuation = (byte: number): boolean => (byte & 0b1100_0000) === 0b1000_0000;
/** Bytes of the longest character. */
const longest = 4;

/** `bytes` without an unfinished character at their end. */
export function withoutPartial<T extends Uint8Array>(bytes: T): T {
  for (let back = 1; back < longest && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return (length > back ? bytes.subarray(0, bytes.length - back) : bytes) as T;
  }
  return bytes;
}

/** The last `most` bytes, without the rest of a character that begins before them. */
export function lastWhole<T extends Uint8Array>(bytes: T, most: number): T {
  if (bytes.length <= most) return bytes;
  let at = bytes.length - most;
  for (let left = longest - 1; left > 0 && isContinuation(bytes[at] ?? 0); left -= 1) at += 1;
  return bytes.subarray(at) as T;
}
