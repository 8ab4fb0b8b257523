/** A part of what a tool answers, as the protocol has it. */
export type Content = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string };

/** Characters of an answer besides whole files: about 16,000 tokens, which clients take (some refuse 25,000). */
const mostText = 65_536;
/** A text that is not shortened, and what a longer one keeps at least. */
const leastText = 1_024;
/** The part of what is shown that comes from the beginning. */
const headShare = 0.7;

export const textOf = (text: string): Content[] => [{ type: 'text', text }];

/** A text with its middle left out where it is long, and a word of how much that is and where it is. */
export function headAndTail(text: string, where: string, most = mostText): string {
  if (text.length <= most) return text;
  const head = text.slice(0, Math.floor(most * headShare)).toWellFormed();
  const tail = text.slice(text.length - (most - head.length)).toWellFormed();
  return `${head}\n[${text.length - head.length - tail.length} characters are left out here: ${where}]\n${tail}`;
}

/**
 * What an operation answered, as JSON for a model. Where it is too long, long texts share the room, and of lists that are still
 * too long the middle is left out, with a word of where it is.
 */
export function jsonFor(answer: unknown, where: string): string {
  const whole = JSON.stringify(answer);
  if (whole.length <= mostText) return whole;
  const texts: number[] = [];
  walk(answer, (text) => void texts.push(JSON.stringify(text).length));
  const shared = levelOf(texts, mostText - (whole.length - sum(texts)));
  let left = walk(answer, (text) => {
    const { length } = JSON.stringify(text);
    // A sign that JSON writes as several counts as those.
    const most = Math.floor((text.length * shared) / length) - where.length - 60;
    return length <= shared ? text : headAndTail(text, where, Math.max(most, leastText / 4));
  });
  for (let tries = 0; tries < mostLists; tries += 1) {
    const json = JSON.stringify(left);
    if (json.length <= mostText) return json;
    left = withoutMiddle(left, json.length - mostText, where);
  }
  const json = JSON.stringify(left);
  if (json.length <= mostText) return json;
  return JSON.stringify({ left_out: whole.length, see: where, text: headAndTail(whole, where, mostText / 4) });
}

/** Lists of one answer that are shortened. */
const mostLists = 8;

/** A copy in which `change` has been asked about each long text; unchanged where it answers nothing. */
function walk(value: unknown, change: (text: string) => string | void): unknown {
  if (typeof value === 'string') return value.length > leastText ? (change(value) ?? value) : value;
  if (Array.isArray(value)) return value.map((one) => walk(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, change)]));
}

/** The most that each of these may have for all to fit into so much room; shorter ones leave the others more. */
function levelOf(sizes: readonly number[], room: number): number {
  const sorted = sizes.toSorted((one, other) => one - other);
  let left = room;
  for (const [at, size] of sorted.entries()) {
    const level = left / (sorted.length - at);
    if (size > level) return Math.max(leastText, Math.floor(level));
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/** The same with the middle of its longest list left out, at whatever depth that is. */
function withoutMiddle(answer: unknown, excess: number, where: string): unknown {
  let longest: { list: unknown[]; sizes: number[] } | undefined;
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value) && value.length > 2) {
      const sizes = value.map((one) => JSON.stringify(one).length + 1);
      if (!longest || sum(sizes) > sum(longest.sizes)) longest = { list: value, sizes };
    }
    // What stands in a list is shortened with it.
    else for (const one of Object.values(value)) look(one);
  };
  look(answer);
  if (!longest) return answer;
  const { list, sizes } = longest;
  const room = sum(sizes) - excess - where.length - 60;
  const head = fitting(sizes, room * headShare);
  const tail = Math.min(list.length - head, fitting(sizes.toReversed(), room * (1 - headShare)));
  const note = { left_out: list.length - head - tail, see: where };
  const shortened = [...list.slice(0, head), note, ...list.slice(list.length - tail)];
  const replaced = (value: unknown): unknown => {
    if (value === list) return shortened;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaced(one)]));
  };
  return replaced(answer);
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

/** How many of them fit into so many characters, the first ones first. */
function fitting(sizes: readonly number[], room: number): number {
  let taken = 0;
  const end = sizes.findIndex((size) => (taken += size) > room);
  return end === -1 ? sizes.length : end;
}

/** A part of a long text, with a word of how the next one is asked for. */
export function partOf(text: string, offset: number): string {
  const part = text.slice(offset, offset + mostText).toWellFormed();
  const end = offset + part.length;
  return end >= text.length ? part : `${part}\n[there is more: ask again with offset ${end}, of ${text.length}]`;
}

/** How files of pictures begin, as Latin-1; a dot stands for any byte. */
const pictures: readonly [mimeType: string, begins: string][] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF....WEBP'],
];

const isBegunBy = (bytes: string, begin: string): boolean =>
  Array.from(begin).every((sign, at) => sign === '.' || bytes[at] === sign);

/** A file as a model reads it: its text, its picture, or base64 where it is neither. */
export function contentOfFile(path: string, bytes: Buffer): Content[] {
  const text = bytes.toString('utf8');
  if (!bytes.includes(0) && Buffer.from(text).equals(bytes)) return textOf(text);
  const begin = bytes.subarray(0, 16).toString('latin1');
  const [mimeType] = pictures.find(([, begins]) => isBegunBy(begin, begins)) ?? [];
  if (mimeType !== undefined) return [{ type: 'image', data: bytes.toString('base64'), mimeType }];
  if (Buffer.from(text).equals(bytes)) return textOf(text);
  return textOf(JSON.stringify({ path, bytes: bytes.length, content_base64: bytes.toString('base64') }));
}
