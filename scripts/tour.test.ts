import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './rules/repository.ts';

test('every stop of the tour is a file of at most 200 lines', () => {
  const text = readFileSync(join(root, 'docs/tour.md'), 'utf8');
  const stops = [...text.matchAll(/^\d+\. \[`([^`]+)`\]\(\.\.\/([^)]+)\)/gm)];
  assert.equal(stops.length, 12);
  for (const [, shown, path = ''] of stops) {
    assert.equal(path, shown);
    const lines = readFileSync(join(root, path), 'utf8').split('\n').length - 1;
    assert.ok(lines <= 200, `${path}: ${lines} lines`);
  }
});
