/**
 * Names of files are bytes, and those of old archives and other systems are no UTF-8. Such a name is shown, and found
 * again, with each byte that belongs to no character as `%E9`, and with `%25` for each `%` of its own. A name that is
 * UTF-8 is shown as it is.
 */

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first character of these bytes and how many it takes; undefined where none begins. */
function characterOf(bytes: Uint8Array): { text: string; length: number } | undefined {
  const lead = bytes[0] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  const text = textOf(bytes.subarray(0, length));
  return text === undefined ? undefined : { text, length };
}

/** A name, or a path, as it is shown. */
export function shownName(bytes: Uint8Array): string {
  const whole = textOf(bytes);
  if (whole !== undefined) return whole;
  let shown = '';
  for (let at = 0; at < bytes.length; ) {
    const found = characterOf(bytes.subarray(at));
    const byte = bytes[at] ?? 0;
    if (found) shown += found.text === '%' ? '%25' : found.text;
    else shown += `%${byte.toString(16).toUpperCase()}`;
    at += found?.length ?? 1;
  }
  return shown;
}

const escape = /%(25|[89A-F][0-9A-F])/g;

/** The bytes that a shown name stands for; undefined for one that stands for itself alone. */
export function bytesOfName(name: string): Uint8Array | undefined {
  if (name.search(escape) === -1) return undefined;
  const parts = name.split(escape);
  const bytes = parts.flatMap((part, at) => (at % 2 === 1 ? [Number.parseInt(part, 16)] : [...encoder.encode(part)]));
  const whole = Uint8Array.from(bytes);
  return textOf(whole) === undefined ? whole : undefined;
}
