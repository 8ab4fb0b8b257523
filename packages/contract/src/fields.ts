import { z } from 'zod';

/** Text that a database can hold: no NUL, no lone surrogate; at most `max` UTF-16 units. */
export function text(max: number) {
  return z
    .string()
    .max(max)
    .refine((value) => !value.includes('\u0000') && value.isWellFormed(), 'must be well-formed text without NUL');
}

/** A UUID of any version, answered in lower case. */
export const uuid = z.guid().toLowerCase();
/** RFC 3339 UTC instant in responses. */
export const dateTime = z.iso.datetime();
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

/** Query of a list that has pages (additive): without it a list answers its first 1,000. */
export const page = {
  limit: limit(1_000, 1_000),
  cursor: text(200).min(1).optional().describe('`next_cursor` of the page before'),
};
/** Beside the rows of a page: where the next one begins. Absent on the last page. */
export const nextCursor = { next_cursor: z.string().optional().describe('Absent on the last page') };
