/** A part of what a tool answers, as the protocol has it. */
export type Content = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string };

/** Characters of an answer besides whole files: about 16,000 tokens, which clients take (some refuse 25,000). */
const mostText = 65_536;
/** Of one text within an answer. */
const mostOfOne = 24_576;
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
 * What an operation answered, as JSON for a model: of long texts and of the longest list the middle is left out, with a word of
 * where it is.
 */
export function jsonFor(answer: unknown, where: string): string {
  const shortened: unknown = JSON.parse(JSON.stringify(answer), (_, value: unknown) =>
    typeof value === 'string' ? headAndTail(value, where, mostOfOne) : value,
  );
  const json = JSON.stringify(shortened);
  if (json.length <= mostText) return json;
  return headAndTail(JSON.stringify(withoutMiddle(shortened, json.length, where)), where);
}

/** The same with the middle of its longest list left out. */
function withoutMiddle(answer: unknown, length: number, where: string): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  const lists = Object.entries(answer).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  const sized = lists.map(([name, list]) => ({ name, list, sizes: list.map((one) => JSON.stringify(one).length + 1) }));
  const [longest] = sized.sort((one, other) => sum(other.sizes) - sum(one.sizes));
  if (!longest) return answer;
  const room = mostText - (length - sum(longest.sizes)) - 200;
  const { list, sizes } = longest;
  const head = fitting(sizes, room * headShare);
  const tail = Math.min(list.length - head, fitting(sizes.toReversed(), room * (1 - headShare)));
  const note = { left_out: list.length - head - tail, see: where };
  return { ...answer, [longest.name]: [...list.slice(0, head), note, ...list.slice(list.length - tail)] };
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

/** How many of them fit into so many characters, the first ones first. */
function fitting(sizes: readonly number[], room: number): number {
  let taken = 0;
  const end = sizes.findIndex((size) => (taken += size) > room);
  return end === -1 ? sizes.length : end;
}

/** How files of pictures begin, as Latin-1; a dot stands for any byte. */
const pictures: readonly [mimeType: string, begins: string][] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
  ['image/webp', 'RIFF....WEBP'],
];

const isBegunBy = (bytes: string, begin: string): boolean =>
  Array.from(begin).every((sign, at) => sign === '.' || bytes[at] === sign);

/** A file as a model reads it: its text, its picture, or base64 where it is neither. */
export function contentOfFile(path: string, bytes: Buffer): Content[] {
  const begin = bytes.subarray(0, 16).toString('latin1');
  const [mimeType] = pictures.find(([, begins]) => isBegunBy(begin, begins)) ?? [];
  if (mimeType !== undefined) return [{ type: 'image', data: bytes.toString('base64'), mimeType }];
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return textOf(text);
  return textOf(JSON.stringify({ path, bytes: bytes.length, content_base64: bytes.toString('base64') }));
}
