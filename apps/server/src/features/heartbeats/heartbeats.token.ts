import { randomBytes } from 'node:crypto';
import type { Keyring } from '../../kernel/base/crypto.ts';

const tokenBytes = 24;
const shape = /^[A-Za-z0-9_-]{32}$/;
/** Longer than any token: the two stand at the same place of a path, and what follows means something else. */
const pingKeyShape = /^pk_[A-Za-z0-9_-]{32}$/;

/** Whether the text is of the shape of a ping key, which no token is. */
export const isPingKey = (text: string): boolean => pingKeyShape.test(text);

/** A token of 192 random bits: it is all that protects a ping route. */
export const newToken = (): string => randomBytes(tokenBytes).toString('base64url');

/** A ping key, of as many random bits. */
export const newPingKey = (): string => `pk_${newToken()}`;

/** The hash that is stored of a token; undefined when the text cannot be one. The work is the same for every text that can. */
export function hashToken(keyring: Keyring, token: string): Buffer | undefined {
  return shape.test(token) ? keyring.mac('ping-token', token) : undefined;
}

/** The same of a ping key. */
export function hashPingKey(keyring: Keyring, key: string): Buffer | undefined {
  return isPingKey(key) ? keyring.mac('ping-key', key) : undefined;
}

/** The same of the token of a badge. */
export function hashBadge(keyring: Keyring, token: string): Buffer | undefined {
  return shape.test(token) ? keyring.mac('badge-token', token) : undefined;
}
