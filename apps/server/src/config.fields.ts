import { z } from 'zod';

/** Digits only: `Number` would take an empty text for 0, and `0x50` and `1e3` for what few mean by them. */
export const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/, 'must be a whole number').transform(Number).pipe(z.number().int().min(min).max(max));

/** An address of a bucket's endpoint: a key in it would be sent as no signature, and shown where addresses are. */
export const withoutUser = <T extends z.ZodType<string>>(address: T, keys: string) =>
  address.refine(
    (value) => {
      const found = URL.parse(value);
      return found === null || (found.username === '' && found.password === '');
    },
    `must have no user and no password: set ${keys.replace('…', 'ACCESS_KEY_ID')} and ${keys.replace('…', 'SECRET_ACCESS_KEY')}`,
  );
