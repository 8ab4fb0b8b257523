import { timingSafeEqual } from 'node:crypto';
import { type TokenScope, tokenScopes } from '@svc/contract';
import type { Kernel } from '../../kernel/kernel.ts';

/** The beginning of every token; no key has it. */
export const tokenPrefix = 'svct_';
/** Key id, expiry in seconds, place of the scope. */
const payloadBytes = 16 + 6 + 1;
const macBytes = 32;

type Parts = Pick<Kernel, 'keyring'>;

/** The contents of a token. */
interface Token {
  keyId: string;
  scope: TokenScope;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Writes a token: it is kept nowhere, and what it says is signed. */
export function writeToken({ keyring }: Parts, { keyId, scope, expiresAt }: Token): string {
  const payload = Buffer.alloc(payloadBytes);
  payload.write(keyId.replaceAll('-', ''), 'hex');
  payload.writeUIntBE(Math.floor(expiresAt / 1000), 16, 6);
  payload.writeUInt8(tokenScopes.indexOf(scope), 22);
  return tokenPrefix + Buffer.concat([payload, keyring.mac('token', payload)]).toString('base64url');
}

/** Reads a token; undefined for one that this platform did not write. Whether it is still good is for the caller to see. */
export function readToken({ keyring }: Parts, text: string): Token | undefined {
  const bytes = Buffer.from(text.slice(tokenPrefix.length), 'base64url');
  if (bytes.length !== payloadBytes + macBytes) return undefined;
  const payload = bytes.subarray(0, payloadBytes);
  if (!timingSafeEqual(bytes.subarray(payloadBytes), keyring.mac('token', payload))) return undefined;
  const hex = payload.toString('hex', 0, 16);
  const keyId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const scope = tokenScopes[payload.readUInt8(22)];
  return scope && { keyId, scope, expiresAt: payload.readUIntBE(16, 6) * 1000 };
}
