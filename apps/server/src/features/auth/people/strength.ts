import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Why a password is not taken, as a key of the words for people. */
export type PasswordProblem = 'short' | 'long' | 'address' | 'common';

const fewest = 12;
const most = 128;

/** Rows and columns of keyboards, and what follows in order. */
const orders = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  '1234567890-=',
  '!@#$%^&*()_+',
  'qwertyuiop[]',
  'qwertzuiop',
  'azertyuiop',
  "asdfghjkl;'",
  'qsdfghjklm',
  'zxcvbnm,./',
  'yxcvbnm,.-',
  'wxcvbn',
  ...'1qaz 2wsx 3edc 4rfv 5tgb 6yhn 7ujm 8ik, 9ol. 0p;/'.split(' '),
].flatMap((order) => [order, order.split('').toReversed().join('')]);

/** Letters for the signs that stand for them. */
const meant: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '3': 'e',
  '1': 'i',
  '!': 'i',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
};
const plainOf = (text: string): string => text.replace(/[@431!0$57]/g, (sign) => meant[sign] ?? sign);

/** The list of common passwords, twelve signs and longer, in small letters; shorter ones are refused as they are. */
const common: ReadonlySet<string> = new Set(
  readFileSync(join(import.meta.dirname, 'common-passwords.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => [line, plainOf(line)]),
);

/**
 * Why a new password is not taken; undefined: it is. 12 to 128 characters, not the address or the part before its `@`, and none
 * that is guessed first: a listed one, something short again and again, runs of the alphabet or of a keyboard.
 */
export function checkNewPassword(password: string, email: string): PasswordProblem | undefined {
  const text = password.normalize('NFC');
  const length = Array.from(text).length;
  if (length < fewest) return 'short';
  if (length > most) return 'long';
  const small = text.toLowerCase();
  const address = email.normalize('NFC').toLowerCase();
  if (small === address || small === address.slice(0, address.lastIndexOf('@'))) return 'address';
  return isCommon(small) ? 'common' : undefined;
}

function isCommon(small: string): boolean {
  const bare = small.trim();
  return [bare, plainOf(bare)].some((text) => common.has(text)) || isRepeated(bare) || isRuns(bare);
}

/** Four signs at most, again and again. */
const isRepeated = (text: string): boolean => /^(.{1,4}?)\1{2,}.{0,3}$/su.test(text);

/** Runs of three and more from the alphabet, the digits, a keyboard, or of one sign: six of them at most make up all but two signs at the end. */
function isRuns(text: string): boolean {
  let at = 0;
  for (let runs = 0; runs < 6 && at < text.length - 2; runs += 1) {
    const length = runAt(text, at);
    if (length < 3) return false;
    at += length;
  }
  return at >= text.length - 2;
}

function runAt(text: string, at: number): number {
  let longest = 1;
  while (text[at + longest] === text[at]) longest += 1;
  for (const order of orders) {
    const first = order.indexOf(text[at] ?? '');
    if (first < 0) continue;
    let length = 1;
    while (first + length < order.length && order[first + length] === text[at + length]) length += 1;
    longest = Math.max(longest, length);
  }
  return longest;
}
