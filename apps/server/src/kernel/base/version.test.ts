import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { commitOf } from './commit.ts';
import { version } from './version.ts';

const root = resolve(import.meta.dirname, '../../../../..');

test('the version is the newest release of the changelog, or the one that is to follow it, and the clients have it too', () => {
  const released = /^## (\d+)\.(\d+)\.(\d+)$/m.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  assert.ok(released, 'a release stands in the changelog');
  const [major = 0, minor = 0, patch = 0] = released.slice(1).map(Number);
  const allowed = [
    [major, minor, patch],
    [major, minor, patch + 1],
    [major, minor + 1, 0],
    [major + 1, 0, 0],
  ];
  assert.ok(allowed.map((one) => one.join('.')).includes(version), `${version} after ${released[0]}`);
  const sdk = JSON.parse(readFileSync(join(root, 'packages/sdk/package.json'), 'utf8')) as { version: string };
  const python = /^version = "(.*)"$/m.exec(readFileSync(join(root, 'packages/sdk-python/pyproject.toml'), 'utf8'));
  assert.deepEqual([sdk.version, python?.[1]], [version, version]);
});

test('the commit of a clone is found on a branch, packed, detached and in a worktree; what is no clone has none', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-commit-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clone = join(folder, 'clone');
  const git = (...words: string[]): string =>
    execFileSync('git', ['-C', clone, '-c', 'user.name=x', '-c', 'user.email=x@example.com', ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  execFileSync('git', ['init', '--quiet', clone]);
  assert.equal(commitOf(clone), undefined, 'nothing is committed');
  git('commit', '--quiet', '--allow-empty', '-m', 'one');
  const commit = git('rev-parse', 'HEAD').slice(0, 12);
  assert.equal(commitOf(clone), commit);
  git('pack-refs', '--all');
  assert.equal(commitOf(clone), commit);
  git('worktree', 'add', '--quiet', join(folder, 'tree'));
  assert.equal(commitOf(join(folder, 'tree')), commit);
  git('checkout', '--quiet', '--detach');
  assert.equal(commitOf(clone), commit);
  assert.equal(commitOf(folder), undefined);
});
