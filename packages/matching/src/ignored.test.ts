import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ignoreFault, ignoring } from './ignored.ts';
import { changedLines, hashText, isSameWay, normalizeOutput } from './output.ts';

const left = (pattern: string, line: string) => ignoring([pattern])?.leave(line);

describe('what an owner ignores of an output', () => {
  test('a pattern is found anywhere in a line: any text, whole numbers, signs as they are', () => {
    const rows: [pattern: string, line: string, left: string | undefined][] = [
      ['visitors: #', 'visitors: 1,024 today', ' today'],
      ['visitors: #', 'Visitors: 5', 'Visitors: 5'],
      ['visitors: #', 'visitors: none', 'visitors: none'],
      ['#x', '12x 3.5x x 4', '  x 4'],
      ['# up', 'v1.2.3 up', 'v'],
      ['.# up', 'a 1.2 up', 'a 1.2 up'],
      ['-# C', '2 at -7 C', '2 at '],
      ['job # of #', 'job 3 of 12', undefined],
      ['*banner*', 'the banner says 7', undefined],
      ['Total *', 'ok Total 5', 'ok '],
      ['* ms', '5 ms, 6 ms and more', ' and more'],
      ['<*>', '<a>b<c>d', 'bd'],
      ['a*b*c', 'ab ac cb c', ' cb c'],
      ['a*b', 'a a', 'a a'],
      [String.raw`100 \*\# \\`, String.raw`100 *# \ x`, ' x'],
      ['🙂 # ș', 'x🙂 8 șy', 'xy'],
      ['aab', 'aaab', 'a'],
      ['2 of #', '12 of 13', '1'],
    ];
    for (const [pattern, line, expected] of rows) assert.equal(left(pattern, line), expected, `${pattern} | ${line}`);
    // The order of patterns says nothing, what two find is taken out once.
    const both = [ignoring(['b c', 'a b']), ignoring(['a b', 'b c', 'a b'])];
    for (const ignored of both) assert.equal(ignored?.leave('a b c d'), ' d');
    assert.equal(both[0]?.id, both[1]?.id);
    assert.equal(ignoring([]), undefined);
    assert.equal(ignoring(null), undefined);
  });

  test('a pattern that says nothing, cannot be read or is of another language is refused with its reason', () => {
    const rows: [reason: RegExp, patterns: string[]][] = [
      [/every line/, ['*', '**', ' ', '* *', '\t*']],
      [/one line/, ['a\nb', 'a\rb', '\u0000', '\u001b[0m']],
      [/before no sign/, [String.raw`\d+`, 'a\\', String.raw`(a)\1`, String.raw`C:\temp`, '\\ ']],
      [/whole number/, ['##', '5#', '#5', '1.#', '#,2', 'a##b']],
      [/regular expression/, ['^a', 'ab$', 'Date: .*', '(a+)+', '(a|a)*b', '(x){9}', '[0-9]+', '(?=a)', '[^a]', 'a.+']],
    ];
    for (const [reason, patterns] of rows)
      for (const pattern of patterns) assert.match(ignoreFault(pattern) ?? 'taken', reason, pattern);
    const taken = [
      'a',
      '#',
      'a*',
      '* a *',
      'Total: $',
      '#$',
      String.raw`\^a.\*(b)\+`,
      '(*)',
      '{"at":"*"}',
      '\t#',
      'ș 🙂',
    ];
    for (const pattern of taken) assert.equal(ignoreFault(pattern), undefined, pattern);
  });

  test('a pattern of a later release is left out, the others count', () => {
    assert.equal(ignoring(['\\d', 'x #'])?.id, ignoring(['x #'])?.id);
    assert.equal(ignoring(['\\d']), undefined);
  });

  test('every pattern finds what it was made of, and reads a line once however much repeats in it', () => {
    // Each of these takes a backtracking matcher minutes or more.
    const length = 65_536;
    const hard: [pattern: string, line: string][] = [
      [`${'a*'.repeat(99)}b`, 'a'.repeat(length)],
      [`${'a'.repeat(199)}#`, 'a'.repeat(length)],
      [`${'# '.repeat(98)}x`, '1 '.repeat(length / 2)],
      [`${'ab'.repeat(99)}c`, 'ab'.repeat(length / 2)],
      ['#y', '1.'.repeat(length / 2)],
    ];
    for (const [pattern, line] of hard) {
      assert.equal(left(pattern, line), line);
      const end = pattern.replaceAll('*', '').replaceAll('#', '7');
      assert.notEqual(left(pattern, `${line} ${end}`)?.length, line.length + 1 + end.length, pattern);
    }
  });

  test('what is ignored is no change, is not told, and hashes of two lists are not compared', () => {
    const now = Date.parse('2026-03-03T20:00:00Z');
    const ignored = ignoring(['*banner*', 'visitors: #']);
    const [before, after] = ['up\nvisitors: 5\n\nend', 'banner A\nup\nbanner B\nvisitors: 1,000\n\nend'];
    assert.notEqual(normalizeOutput(before, now), normalizeOutput(after, now));
    assert.equal(normalizeOutput(before, now, ignored), normalizeOutput(after, now, ignored));
    assert.deepEqual(changedLines(before, `${after}\nmore`, now, ignored), ['+ more']);
    // However long it is, and however many ignored lines come.
    const long = (visitors: number, banners: number): string =>
      [
        `visitors: ${visitors}`,
        ...Array.from({ length: 2_500 }, (_, at) => `took ${at} ms`),
        ...Array(banners).fill('a banner'),
      ].join('\n');
    assert.equal(normalizeOutput(long(5, 0), now, ignored), normalizeOutput(long(6, 40), now, ignored));
    // In colours too.
    assert.equal(normalizeOutput('visitors: \u001b[1m5\u001b[0m', now, ignored), '');
    const hashes = [undefined, ignored, ignoring(['x'])].map((list) => hashText('ab', list));
    assert.match(hashes[1] ?? '', /^2\+[0-9a-f]{16}:ab$/);
    assert.equal(hashes[0], '2:ab');
    for (const one of hashes) assert.equal(hashes.filter((other) => isSameWay(one, other)).length, 1);
  });
});
