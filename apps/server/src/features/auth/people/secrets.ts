import { createHash, randomBytes, randomInt } from 'node:crypto';

/** 32 random bytes as text: of a login's cookie, of a link, of a phone that waits. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

const secretText = /^[\w-]{43}$/;

/**
 * SHA-256 of such a text, as it is kept. Undefined for a text that is none: it costs no query. A plain hash is enough for 32
 * random bytes, and survives a rotation of the master key.
 */
export const hashOfSecret = (text: string): Buffer | undefined =>
  secretText.test(text) ? createHash('sha256').update(Buffer.from(text, 'base64url')).digest() : undefined;

/** Letters and digits that no reader takes for each other: without 0, 1, I and O. */
export const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ';
export const lettersAndDigits = `${letters}23456789`;

/** A random code of so many signs of an alphabet. */
export const newCode = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** A code as a person typed it: its letters large, without spaces and hyphens. */
export const typedCode = (text: string): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[\s\p{Pd}]/gu, '');

/** The form in which a code is shown: two halves. */
export const shownCode = (code: string): string => `${code.slice(0, code.length / 2)}-${code.slice(code.length / 2)}`;
