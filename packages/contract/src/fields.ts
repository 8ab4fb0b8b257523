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
