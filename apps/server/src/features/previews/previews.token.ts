import { createHash, randomBytes } from 'node:crypto';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
/** 130 bits; a DNS label has room for 63 characters and does not tell upper from lower case. */
const length = 26;

/** A fresh token. */
export function createToken(): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
}

export const isToken = (text: string): boolean => /^[a-z2-7]{26}$/.test(text);

/** Under which a token is stored. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
