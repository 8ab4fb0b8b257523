import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from './answer.ts';

const kept = (text: string | Buffer, headers: Record<string, string>, truncated = false) =>
  textOf({ body: Buffer.from(text as string), truncated }, headers);

test('an answer is kept without the values that were sent, in whatever writing a server echoes them', () => {
  const headers = { authorization: 'Bearer quo"ted-secret', accept: 'application/json' };
  assert.equal(kept('a Bearer quo"ted-secret b', headers), 'a [authorization] b');
  assert.equal(kept('{"a":"quo\\"ted-secret"}', headers), '{"a":"[authorization: …]"}');
  assert.equal(kept('quo%22ted-secret', headers), '[authorization: …]');
  assert.equal(kept(Buffer.from('quo"ted-secret').toString('base64'), headers), '[authorization: …]');
  assert.equal(kept('application/json', headers), 'application/json');
  const latin = 'pass-wörd-1';
  assert.equal(kept(Buffer.from(latin, 'latin1'), { 'x-a': latin }), '[x-a]');
  assert.equal(kept(latin, { 'x-a': latin }), '[x-a]');
});

test('where an answer is cut, neither the beginning of a value nor half a character is kept', () => {
  assert.equal(kept('x echoed-se', { 'x-a': 'echoed-secret' }, true), 'x ');
  assert.equal(kept('x echoed-se', { 'x-a': 'echoed-secret' }), 'x echoed-se');
  assert.equal(kept(Buffer.from('x ț').subarray(0, 3), {}, true), 'x ');
});

test('what the database cannot hold is shown as what it is not', () => assert.equal(kept('a\u0000b', {}), 'a\uFFFDb'));
