import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { frameType, windowBytes } from './frames.ts';
import { guestEnds, guestEvents, readEnd, readEvent } from './messages.ts';

const guest = join(import.meta.dirname, '../guest');
const read = (name: string): string => readFileSync(join(guest, name), 'utf8');
const found = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name as string);

test('the agent serves the kinds of request that are declared, and no others', () => {
  const served = found(read('main.py'), /\bkind == '(\w+)'/g);
  assert.deepEqual(served.toSorted(), Object.keys(guestEnds).toSorted());
});

test('the agent asks the shim for the kind of channel that is declared', () => {
  const asked = readdirSync(guest)
    .filter((name) => name.endsWith('.py'))
    .flatMap((name) => found(read(name), /mux\.open\(\{'kind': '(\w+)'/g));
  assert.deepEqual(asked, ['egress']);
});

test('types of frames and the window are the same on both ends', () => {
  const [, names = '', from] = /^([A-Z0-9, ]+) = range\((\d+), \d+\)$/m.exec(read('mux.py')) ?? [];
  const types = names.split(', ').map((name, index) => [name.toLowerCase(), Number(from) + index]);
  assert.deepEqual(Object.fromEntries(types), frameType);
  assert.equal(Number(/^WINDOW = (.*)$/m.exec(read('mux.py'))?.[1]?.replaceAll('_', '')), windowBytes);
});

test('every field that is read of an answer is one that the agent writes', () => {
  const writers = {
    exec: 'execs.py',
    code: 'kernels.py',
    look: 'main.py',
    freeze: 'main.py',
    port: 'tunnel.py',
    terminal: 'terminal.py',
    announce: 'main.py',
    ended: 'aftermath.py',
  } as const;
  for (const [kind, file] of Object.entries(writers)) {
    const text = read(file);
    for (const field of Object.keys(guestEnds[kind as keyof typeof writers].shape)) {
      if (field !== 'error' || !['main.py', 'aftermath.py'].includes(file))
        assert.ok(text.includes(`'${field}'`), `${file}: ${field}`);
    }
  }
  const events = { exec: ['start', 'truncated'], code: ['truncated'], port: ['connected'], terminal: ['start'] };
  assert.deepEqual(Object.keys(events), Object.keys(guestEvents));
  for (const [kind, fields] of Object.entries(events)) {
    const text = read(writers[kind as keyof typeof events]);
    for (const field of fields) assert.match(text, new RegExp(`event\\(\\{'${field}'`));
  }
});

test('what an agent says that lies is read as the defaults', () => {
  const none = { exit_code: null, timed_out: false, duration_ms: Number.NaN };
  assert.deepEqual(readEnd('exec', {}), none);
  const lies = { exit_code: '0', timed_out: 1, duration_ms: {}, error: 'none' };
  assert.deepEqual(readEnd('exec', lies), { ...none, error: undefined });
  assert.deepEqual(readEnd('code', { error: { name: 'a' }, images: [1], result: 5 }), {
    result: null,
    error: null,
    images: [],
    cut: [],
    duration_ms: Number.NaN,
    execution_count: Number.NaN,
    kernel_restarted: false,
  });
  assert.equal(readEvent('exec', { start: 'yes' }), undefined);
  assert.equal(readEvent('exec', { truncated: 'stdin' }), undefined);
  assert.equal(readEvent('ping', { connected: true }), undefined);
});
