import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LogLines, spansOf } from '../src/ui/ansi.rules.ts';

describe('a line of a log', () => {
  test('has its colours as class names from a list, and no other escape sequence', () => {
    assert.deepEqual(spansOf('\u001b[1;31mbad\u001b[0m fine \u001b[92mok\u001b[39m.'), [
      { text: 'bad', look: 'ansi-bold ansi-red' },
      { text: ' fine ', look: '' },
      { text: 'ok', look: 'ansi-green' },
      { text: '.', look: '' },
    ]);
    assert.deepEqual(spansOf('\u001b]0;title\u0007\u001b[2J\u001b[38;5;200mx'), [{ text: 'x', look: '' }]);
  });

  test('shows marks that turn its direction, and is text whatever it holds', () => {
    assert.deepEqual(spansOf('rm \u202etxt.exe'), [{ text: 'rm [U+202E]txt.exe', look: '' }]);
    assert.deepEqual(spansOf('<script>alert(1)</script>'), [{ text: '<script>alert(1)</script>', look: '' }]);
  });

  test('is what was written last over it, and at most 10,000 characters', () => {
    assert.deepEqual(spansOf('10 %\r20 %\r100 %'), [{ text: '100 %', look: '' }]);
    assert.equal(spansOf('x'.repeat(1_000_000))[0]?.text.length, 10_001);
  });
});

describe('lines of a log', () => {
  test('come in pieces of any size and are found by their text', () => {
    const lines = new LogLines();
    for (const piece of ['on', 'e\ntwo\nth', 'ree', '\n', 'last']) lines.push(piece);
    assert.equal(lines.text(), 'one\ntwo\nthree\nlast');
    assert.deepEqual([lines.count, lines.at(2), lines.find('T')], [4, 'three', [1, 2, 3]]);
  });

  test('are kept up to a bound, the newest ones', () => {
    const lines = new LogLines(1_000);
    for (let at = 0; at < 10_000; at += 1) lines.push(`${at}\n`);
    assert.ok(lines.count <= 1_101);
    assert.equal(lines.at(lines.count - 1), '9999');
    assert.equal(lines.dropped + lines.count, 10_000);
  });
});
