import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';
import { describe, test } from 'node:test';
import { root } from './repository.ts';

const patterns = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

/** Whether an image's build context leaves a path out: by itself, or with a folder above it. */
function isLeftOut(path: string): boolean {
  const isMatched = patterns.some((pattern) => matchesGlob(path, pattern));
  return isMatched || (path.includes('/') && isLeftOut(dirname(path)));
}

describe('the build context of an image', () => {
  test('holds no secret and no state of the machine that builds it', () => {
    const secrets = ['.svc/master.key', '.svc/postgres/PG_VERSION', '.env', '.env.local', 'deploy/compose/.env'];
    const elsewhere = ['data/settings.env', 'data/owner.key', 'data/master.key', 'tls/key.pem', '.git/config', 'a.log'];
    const installed = ['node_modules/x/index.js', 'apps/server/node_modules/x/index.js'];
    for (const path of [...secrets, ...elsewhere, ...installed]) assert.ok(isLeftOut(path), path);
  });

  test('holds every file of the repository, but for what the build does not need', () => {
    const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
    assert.deepEqual(tracked.filter(isLeftOut), []);
  });
});
