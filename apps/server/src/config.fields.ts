import { z } from 'zod';

/** Digits only: `Number` would take an empty text for 0, and `0x50` and `1e3` for what few mean by them. */
export const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().int().min(min).max(max));
