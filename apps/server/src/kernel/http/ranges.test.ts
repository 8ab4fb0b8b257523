import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rangeOf } from './ranges.ts';

test('a header asks for one range, for what is not there, or for all', () => {
  for (const [header, wanted] of [
    ['bytes=0-9', { start: 0, end: 9 }],
    ['bytes=5-', { start: 5, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['Bytes = 98 - 500', { start: 98, end: 99 }],
    ['bytes=100-', null],
    ['bytes=-0', null],
    ['bytes=9-5', undefined],
    ['bytes=0-1,4-5', undefined],
    ['bytes=-', undefined],
    ['lines=0-1', undefined],
    ['bytes=99999999999999999999-', undefined],
    [undefined, undefined],
  ] as const) {
    assert.deepEqual(rangeOf(header, 100), wanted, String(header));
  }
  assert.equal(rangeOf('bytes=0-', 0), null);
});
