import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastWhole, withoutPartial } from './characters.ts';

test('bytes that were cut anywhere hold whole characters, and lose no whole one', () => {
  const text = 'aț漢😀z';
  const bytes = Buffer.from(text);
  const edges = Array.from(text).map((_, at, all) => Buffer.byteLength(all.slice(0, at + 1).join('')));
  for (let length = 0; length <= bytes.length; length += 1) {
    const wanted = edges.findLast((edge) => edge <= length) ?? 0;
    assert.equal(withoutPartial(bytes.subarray(0, length)).length, wanted);
    const from = [0, ...edges].find((edge) => edge >= bytes.length - length) ?? 0;
    assert.deepEqual(lastWhole(bytes, length), bytes.subarray(from));
  }
  // What is no text stays as it is, but for what may be half a character.
  const noText = Buffer.from([0xff, 0xfe, 0x80, 0x80, 0x80, 0x80]);
  assert.deepEqual(withoutPartial(noText), noText);
});
