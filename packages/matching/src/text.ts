import { createHash } from 'node:crypto';

/** Two prompts whose first so many UTF-16 units agree are the same: a client may have cut one. */
export const prefixUnits = 4_000;

/** A text as it is compared: white space at its ends is gone, and each run of it is one space. */
export const normalized = (text: string): string => text.trim().replace(/\s+/gu, ' ');

/** SHA-256 of the normalized text as UTF-8, in hexadecimal digits (document 1, Pending prompt: dedupe). */
export const textHash = (text: string): string => createHash('sha256').update(normalized(text)).digest('hex');

/** The start that two texts are compared by: undefined for one that is shorter, which only its equal has. */
export function textPrefix(text: string): string | undefined {
  const whole = normalized(text);
  return whole.length < prefixUnits ? undefined : whole.slice(0, prefixUnits);
}
