import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalEnd, terminalRequest } from './index.ts';

test('a terminal has 1 to 1,000 columns and rows, whole ones, and both of them', () => {
  const accepts = (resize: unknown): boolean => terminalRequest.safeParse({ resize }).success;
  for (const size of [1, 80, 1_000]) assert.ok(accepts({ cols: size, rows: size }), String(size));
  for (const size of [0, -1, 1_001, 80.5, '80', null, undefined, Number.NaN]) {
    assert.equal(accepts({ cols: size, rows: 24 }), false, `${size} columns`);
    assert.equal(accepts({ cols: 80, rows: size }), false, `${size} rows`);
  }
  assert.equal(terminalRequest.safeParse({}).success, false);
});

test('a terminal ends with an exit code, or with null and mostly a signal', () => {
  for (const end of [{ exit_code: 0 }, { exit_code: null }, { exit_code: null, signal: 'SIGKILL' }]) {
    assert.deepEqual(terminalEnd.parse(end), end);
  }
  assert.deepEqual(terminalEnd.parse({ exit_code: 130, signal: null }), { exit_code: 130, signal: null });
  for (const end of [{}, { signal: 'SIGKILL' }, { exit_code: '0' }, { exit_code: 1.5 }]) {
    assert.equal(terminalEnd.safeParse(end).success, false, JSON.stringify(end));
  }
});
