/** A JSON object of a stranger: nothing of it is known. */
export type Value = Readonly<Record<string, unknown>>;

/** True for an object that is neither null nor an array. */
export const isObject = (value: unknown): value is Value =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** The value as an object; empty for anything else. */
export const objectOf = (value: unknown): Value => (isObject(value) ? value : {});
/** The objects of a list; leaves out other entries. */
export const objectsOf = (value: unknown): Value[] => (Array.isArray(value) ? value.filter(isObject) : []);
/** The value as text; undefined for anything else. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
/** The name of a value's own type, for a message. */
export const typeName = (value: unknown): string => textOf(value)?.slice(0, 60) ?? 'unknown';
/** The value as a number; undefined for anything else. */
export const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
/** More tokens than any answer has; less than any column or sum of ours holds. */
const mostCount = 1_000_000_000;
/** The value as a count: a whole number of 0 to 1e9; anything else is zero, and what is above it 1e9. */
export const countOf = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Math.min(Math.round(value), mostCount) : 0;

/** A request asks for something that the lane's protocol cannot express. `field` is the path in the client's request. */
export class Untranslatable extends Error {
  override name = 'Untranslatable';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Where an image or a document is: its bytes in base64, or an address. */
export type Source = { data: string; mime: string } | { url: string };

const dataUrl = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s;

/** An address, or the bytes that a `data:` URL holds. */
export function sourceOf(url: string): Source {
  const [, mime, data] = dataUrl.exec(url) ?? [];
  return mime !== undefined && data !== undefined ? { mime, data } : { url };
}

/** The source as one URL. */
export const urlOf = (source: Source): string =>
  'url' in source ? source.url : `data:${source.mime};base64,${source.data}`;

/** JSON text as a value; undefined for invalid JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The entries that have a value. */
export const defined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never;
