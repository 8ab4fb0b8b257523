import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';

const passed = (head: string): boolean =>
  (createGate('allowed.test').pass(Buffer.from(head, 'latin1'))?.length ?? 0) > 0;

test('a request that names its host passes, with any byte above ASCII in its path and its values', () => {
  assert.ok(passed('GET /a?b=\xe4#c HTTP/1.1\r\nHost: allowed.test:8080\r\nX: a\tb \xff\r\nEmpty:\r\n\r\n'));
});

test('a control character in a request line or a value ends the connection', () => {
  for (const code of [0, 1, 8, 9, 10, 11, 12, 13, 31, 32, 127]) {
    const character = String.fromCharCode(code);
    const line = `GET /x${character}HTTP/1.1${character}Host:denied.test${character}X:y HTTP/1.1\r\nHost: allowed.test\r\n\r\n`;
    assert.equal(passed(line), false, `${code} in the line`);
    if (code === 9 || code === 32) continue;
    const value = `GET / HTTP/1.1\r\nHost: allowed.test\r\nX: y${character}Host: denied.test\r\n\r\n`;
    assert.equal(passed(value), false, `${code} in a value`);
  }
});
