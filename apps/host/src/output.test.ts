import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createOutput } from './output.ts';

test('no character that deceives a terminal is printed, as text or as JSON, and the JSON stays what it was', () => {
  const stdout = new PassThrough({ encoding: 'utf8' });
  const output = createOutput(undefined, stdout);
  const title = 'a\u001B[2J\u009B2J\u202E\u2028\u{E0001}\u007F ș';
  output.line(title);
  output.json({ title });
  const printed = String(stdout.read());
  assert.doesNotMatch(printed.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  assert.deepEqual(JSON.parse(printed.split('\n')[1] ?? ''), { title });
});
