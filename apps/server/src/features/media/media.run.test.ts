import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../kernel/base/clock.ts';
import { Programs } from './media.run.ts';

test('of a program that says much its first and last words are kept, and each line is handed over', async () => {
  const lines: string[] = [];
  const run = { ms: 60_000, signal: AbortSignal.any([]), kept: 10_000, onLine: () => {} };
  const onSaid = (line: string): void => void lines.push(line);
  const words = ['/bin/sh', '-c', 'echo first >&2; seq 60000 >&2; echo last >&2'];
  const { said, code } = await new Programs(systemClock).run(words, { ...run, onSaid });
  assert.deepEqual([code, lines.length, lines.at(-1)], [0, 60_002, 'last']);
  assert.match(said, /^first\n1\n2\n/);
  assert.match(said, /\n60000\nlast\n$/);
  assert.ok(said.length <= 10_000 + 4 * 1024, `${said.length}`);
  const short = await new Programs(systemClock).run(['/bin/sh', '-c', 'echo one >&2; echo two >&2'], run);
  assert.equal(short.said, 'one\ntwo\n');
});
