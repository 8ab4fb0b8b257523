import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readable } from './text.ts';

test('a text of others has no colours, links or moves of a cursor, and shows what else would act on who reads it', () => {
  const cases: [string, string][] = [
    ['\u001b[1;31mFAIL\u001b[0m 3 of 4\r\n\tnext', 'FAIL 3 of 4\n\tnext'],
    ['\u001b]0;a title\u0007done \u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\', 'done here'],
    ['10 %\r100 %\u001b[2K\u001b[1A', '10 %\\u{d}100 %'],
    ['\u001b]x has failed\nsee \u001b]0;t', '\\u{1b}]x has failed\nsee \\u{1b}]0;t'],
    ['bell\u0007, \u001bc and \u009b31m', 'bell\\u{7}, \\u{1b}c and \\u{9b}31m'],
    ['invoice\u202efdp.exe', 'invoice\\u{202e}fdp.exe'],
    ['👩‍👩‍👧 ți s-a terminat\u00a0spațiul', '👩‍👩‍👧 ți s-a terminat\u00a0spațiul'],
  ];
  for (const [given, shown] of cases) assert.equal(readable(given), shown);
});

test('many beginnings of sequences without an end cost one look each', () => {
  const given = '\u001b]0;'.repeat(100_000);
  assert.equal(readable(given), '\\u{1b}]0;'.repeat(100_000));
});
