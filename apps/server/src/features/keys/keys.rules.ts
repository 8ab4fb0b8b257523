import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { reachOf } from '@svc/contract';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const marker = 'svc_';
const randomLength = 32;
const checkLength = 6;
const shape = /^svc_[0-9A-Za-z]{38}$/;

/** A fresh key: `svc_`, 32 random base62 characters (190 bits), 6 base62 characters of their CRC-32. */
export function generateKey(): string {
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return marker + random + checksum(random);
}

/** Whether the text has the shape and the checksum of a key: a typing slip costs no query. */
export function isKeyText(text: string): boolean {
  return shape.test(text) && checksum(text.slice(marker.length, -checkLength)) === text.slice(-checkLength);
}

function checksum(random: string): string {
  let rest = crc32(random);
  let digits = '';
  for (let i = 0; i < checkLength; i++) {
    digits = alphabet[rest % alphabet.length] + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** The parts of a key that are kept in the clear to recognise it: `svc_` and four characters; and its last four. */
export function recognisable(text: string): { prefix: string; lastFour: string } {
  return { prefix: text.slice(0, 8), lastFour: text.slice(-4) };
}

/** What scopes reach, for the audit log; nothing where that is nothing. */
export function reached(scopes: readonly string[]): { reach?: string[] } {
  const reach = reachOf(scopes);
  return reach.length > 0 ? { reach } : {};
}

/** The terms of a key, for the audit log. */
export const termsOf = (key: { name: string; prefix: string; scopes: readonly string[]; tool_level: string }) => ({
  name: key.name,
  prefix: key.prefix,
  scopes: key.scopes,
  tool_level: key.tool_level,
  ...reached(key.scopes),
});

/**
 * Whether every one of `wanted` is within what `held` allows: a key never creates a stronger one. A feature includes its
 * `:read` and `:exec`, and its `:terminal` unless these are the scopes of an app; its `:serve` is a right apart.
 */
export function scopesWithin(wanted: readonly string[], held: readonly string[], isOfApp = false): boolean {
  const includes = (scope: string): boolean =>
    held.includes(scope.replace(/:(read|exec)$/, '')) || (!isOfApp && held.includes(scope.replace(/:terminal$/, '')));
  return wanted.every((scope) => held.includes('*') || includes(scope));
}
