import { randomBytes } from 'node:crypto';
import type { Keyring } from '../../kernel/crypto.ts';

const tokenBytes = 24;
const shape = /^[A-Za-z0-9_-]{32}$/;

/** A token of 192 random bits: it is all that protects a ping route. */
export const newToken = (): string => randomBytes(tokenBytes).toString('base64url');

/** What is stored of a token; undefined when the text cannot be one. The same work for every one that can. */
export function hashToken(keyring: Keyring, token: string): Buffer | undefined {
  return shape.test(token) ? keyring.mac('ping-token', token) : undefined;
}
