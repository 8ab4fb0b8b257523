import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { requireEmpty, settleRestore, unsettledRestore } from './staging.ts';

test('a link in the place of a restore is never followed: what it leads to stays where it is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-staging-'));
  try {
    const [dataDir, victim] = ['data', 'victim'].map((name) => join(folder, name)) as [string, string];
    for (const path of [dataDir, victim]) mkdirSync(path);
    for (const name of ['complete', 'letters.txt']) writeFileSync(join(victim, name), 'x');
    symlinkSync(victim, join(dataDir, 'restoring'));
    assert.throws(() => settleRestore(dataDir), /was not made by this user/);
    assert.deepEqual(readdirSync(victim), ['complete', 'letters.txt']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a restore that was done but for its last renames is finished by the next look, from wherever it was killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-staging-'));
  try {
    const staging = join(folder, 'restoring');
    mkdirSync(staging);
    for (const name of ['complete', 'second']) writeFileSync(join(staging, name), name);
    writeFileSync(join(folder, 'first'), 'moved before');
    assert.equal(unsettledRestore(folder), 'done');
    assert.equal(settleRestore(folder), true);
    assert.deepEqual(readdirSync(folder).toSorted(), ['first', 'second']);
    assert.ok(!existsSync(staging));
    assert.equal(settleRestore(folder), false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a folder is empty for a restore when it has only what file systems and desktops put there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-staging-'));
  try {
    for (const name of ['.snapshot', '.DS_Store', '.Trash-1000', '._x', 'lost+found']) mkdirSync(join(folder, name));
    requireEmpty(folder);
    writeFileSync(join(folder, '.env'), 'x');
    assert.throws(() => requireEmpty(folder), /is not empty \(\.env\)/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
