// Runs `npm ci` when the installed packages do not match the lock file. Built-in modules only: nothing is there yet.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const lock = join(root, '.svc-install');
const staleMs = 10 * 60_000;

/** npm writes this file last: it is there, and newer than the lock file, only after a whole install. */
function installed() {
  const done = statSync(join(root, 'node_modules/.package-lock.json'), { throwIfNoEntry: false });
  return done !== undefined && done.mtimeMs > statSync(join(root, 'package-lock.json')).mtimeMs;
}

/** One install at a time: `npm start` and `npm test` may begin together. */
function takeLock() {
  for (;;) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const held = statSync(lock, { throwIfNoEntry: false });
      if (held && Date.now() - held.mtimeMs > staleMs) rmSync(lock, { recursive: true, force: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
  }
}

const major = Number(process.versions.node.split('.')[0]);
if (major < 20) {
  console.error(`svc: needs Node.js 20 or newer to install itself, found ${process.version}`);
  process.exit(1);
}
takeLock();
let status = 0;
try {
  if (!installed()) {
    console.error('svc: installing packages …');
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2] });
    status = npm.status ?? 1;
    if (status !== 0) console.error('svc: npm ci failed; see above');
  }
} finally {
  rmSync(lock, { recursive: true, force: true });
}
process.exit(status);
