import { z } from 'zod';
import { emailShape, newEmail } from './emails.ts';

/** Text that a database can hold: no NUL, no lone surrogate; at most `max` UTF-16 units. */
export function text(max: number) {
  return z
    .string()
    .max(max)
    .refine((value) => !value.includes('\u0000') && value.isWellFormed(), 'must be well-formed text without NUL');
}

/** A mail address that an account gets, as `newEmail` keeps it. */
export const emailAddress = text(254)
  .regex(emailShape, 'must be an e-mail address')
  .refine(
    (value) => !emailShape.test(value) || newEmail(value) !== undefined,
    'must be an e-mail address in letters of one script that are all seen',
  )
  .overwrite((value) => newEmail(value) ?? value);

/** Half of a character: readers of JSON that are strict refuse a whole page for it. */
const loneSurrogate = /(?<!\\)(?:\\\\)*\\ud[89a-f]/i;

/** An object of a client's own, kept as it is given: at most `max` characters of JSON, without halves of characters. */
export function jsonObject(max: number) {
  return z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= max, {
      message: `must be at most ${max.toLocaleString('en-US')} characters of JSON`,
      abort: true,
    })
    .refine((value) => !loneSurrogate.test(JSON.stringify(value)), 'must be well-formed text');
}

/** Headers of the connection: the HTTP client sets them. */
export const headersOfConnection =
  /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/i;

/** Names that differ by case only are one header: the ones that another has before them. */
export function repeatedNames(headers: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(headers);
  const lower = names.map((name) => name.toLowerCase());
  return names.filter((_, i) => lower.indexOf(lower[i] as string) < i);
}

/** A UUID of any version, answered in lower case. */
export const uuid = z.guid().toLowerCase();
/**
 * Refuses an address with a user or a password in it: it stands in logs, in alerts and in errors, a header does not.
 */
export const withoutUser = <T extends z.ZodType<string>>(url: T): T =>
  url.refine((value) => {
    const read = URL.canParse(value) ? new URL(value) : undefined;
    return read === undefined || (read.username === '' && read.password === '');
  }, 'must have no user and password in it; send them as a header');
/** RFC 3339 UTC instant in responses. */
export const dateTime = z.iso.datetime();
/** An instant of a request: RFC 3339 with any offset. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine(
    (value) => !(Date.parse(value) < -62_135_596_800_000 || Date.parse(value) >= 253_370_764_800_000),
    'must lie in the years 1 to 9998',
  );
/** A time of day. */
export const clockTime = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day, HH:MM');
const isZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    return false;
  }
};
/** The name of a time zone; an offset is refused, as it knows no summer time. */
export const timeZone = text(64).refine(isZone, 'must be an IANA time zone, such as Europe/Bucharest');
/** Milliseconds since the Unix epoch. */
export const epochMs = z.int().nonnegative();
/** `limit` of a list's query: 1 to `most`, `fallback` when absent. A client gives a number, the query carries its digits. */
export const limit = (most: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(fallback)
    .describe(`1 to ${most}, default ${fallback}`) as unknown as z.ZodDefault<z.ZodType<number, number>>;

/** Some of a list's values in one parameter of a query, separated by commas; blanks and repeats are dropped. */
export const commaList = <const T extends readonly [string, ...string[]]>(values: T) =>
  text(500)
    .transform((value) => [...new Set(value.split(',').map((name) => name.trim()))].filter((name) => name !== ''))
    .pipe(z.array(z.enum(values)).min(1))
    .describe(`Comma-separated: ${values.join(', ')}`) as unknown as z.ZodType<T[number][], string>;

/** A field of a change: `null` sets it back to what a creation that leaves it out gives. */
export const resettable = <S extends z.ZodType>(field: S) => field.nullable().optional();

/** Query of a list that has pages (additive): without it a list answers its first 1,000. */
export const page = {
  limit: limit(1_000, 1_000),
  cursor: text(200).min(1).optional().describe('`next_cursor` of the page before'),
};
/** Cursor of a list whose rows are numbered: the number of the last row of the page before. */
export const numberCursor = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the `next_cursor` of a page')
  .optional()
  .describe('`next_cursor` of the page before');
/** Beside the rows of a page: where the next one begins. Absent on the last page. */
export const nextCursor = { next_cursor: z.string().optional().describe('Absent on the last page') };

/** Where a reader of an account's changes stands (additive; document 1, Events). */
export const feedCursor = z.string().describe('Where to go on, as `after`, on any stream of the account');
/** Query of a stream of the account's changes. */
export const afterCursor = {
  after: z
    .string()
    .regex(/^[A-Za-z0-9_-]{32}$/, 'must be a `cursor` that a stream or an answer gave')
    .optional()
    .describe('A `cursor` that came before: what happened since comes first, then what happens'),
};
/** The first frame of a stream of the account's changes. */
export const ready = z.object({
  cursor: feedCursor,
  missed: z
    .boolean()
    .describe('`after` is too old, or not of this account: read the records anew. The stream goes on from now'),
});
