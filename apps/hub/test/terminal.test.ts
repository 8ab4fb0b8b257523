import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminalPath, typedBy, withCtrl } from '../src/frames/terminal/terminal.rules.ts';

const id = '0190c0de-0000-7000-8000-000000000001';

test('a terminal is opened of a sandbox or of an environment, and of nothing else', () => {
  assert.equal(terminalPath(`?sandbox=${id}`, '/relay'), `/v1/sandboxes/${id}/terminal?`);
  assert.equal(terminalPath(`?environment=${id}`, '/relay'), `/relay/v1/environments/${id}/attach?kind=terminal&`);
  for (const search of ['', '?sandbox=', `?sandbox=${id}/../x`, '?environment=..%2F..%2Fv1', `?key=${id}`])
    assert.equal(terminalPath(search, '/relay'), undefined);
});

test('keys of the bar type what a keyboard would, arrows as the program wants them', () => {
  assert.deepEqual(
    ['esc', 'tab', 'up', 'left'].map((key) => typedBy(key, false)),
    ['\x1b', '\t', '\x1b[A', '\x1b[D'],
  );
  assert.equal(typedBy('down', true), '\x1bOB');
  assert.equal(typedBy('ctrl', false), '');
});

test('Ctrl changes letters alone', () => {
  assert.deepEqual(['c', 'Z', '[', '1', 'ab', ''].map(withCtrl), ['\x03', '\x1a', '\x1b', '1', 'ab', '']);
});
