import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EscapeReader } from './escape.ts';

/** What is sent of keys that come in these pieces; ends with a `|` where the keys for the end were typed. */
function sentOf(...pieces: string[]): string {
  const reader = new EscapeReader();
  let sent = '';
  for (const piece of pieces) {
    const bytes = reader.read(Buffer.from(piece));
    if (bytes === undefined) return `${sent}|`;
    sent += bytes.toString();
  }
  return sent;
}

test('~. ends a terminal at the beginning of a line alone, in whatever pieces it comes', () => {
  assert.equal(sentOf('~.'), '|');
  assert.equal(sentOf('ls\r', '~', '.'), 'ls\r|');
  assert.equal(sentOf('ls\n~.'), '|');
  assert.equal(sentOf('ls ~.'), 'ls ~.');
  assert.equal(sentOf('a\r', 'b', '~', '.'), 'a\rb~.');
});

test('all other keys arrive: ~~ is one ~, and a ~ that begins a word stays', () => {
  assert.equal(sentOf('~~.'), '~.');
  assert.equal(sentOf('~', 'ana\r', '~/x\r'), '~ana\r~/x\r');
  assert.equal(sentOf('\r~\r', '~.'), '\r~\r|');
});
