// Installs packages that are missing or not those of the lock file. Built-in modules only: nothing is there yet.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
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

/** Packages for tests, lint and benchmarks; this one stands for all of them. */
const hasAll = () => existsSync(join(root, 'node_modules/@biomejs/biome/package.json'));

/** How many packages stand in `node_modules`, scopes looked into. */
function count() {
  const folder = join(root, 'node_modules');
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
  return names.reduce((sum, name) => sum + (name.startsWith('@') ? readdirSync(join(folder, name)).length : 1), 0);
}

/** How many packages will stand there, without those that npm puts below others; some are for other machines. */
function expected() {
  const { packages = {} } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const fits = ({ os, cpu }) =>
    (os === undefined || os.includes(process.platform)) && (cpu === undefined || cpu.includes(process.arch));
  return Object.entries(packages).filter(
    ([path, one]) => /^node_modules\/(?!.*\/node_modules\/)/.test(path) && fits(one) && (wanted === 'all' || !one.dev),
  ).length;
}

/** On a terminal: a line that tells how far it is. */
function showProgress() {
  if (!process.stderr.isTTY) return () => {};
  const all = expected();
  const line = () => `\r\x1b[Ksvc: installing packages … ${Math.min(count(), all)} of ${all}`;
  const timer = setInterval(() => process.stderr.write(line()), 250);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\x1b[K');
  };
}

/**
 * `npm ci` where the install is not that of the lock file. Where only the rest is missing it is added beside what is there:
 * a platform may be running from it.
 */
async function install() {
  const isCurrent = installed();
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const all = [...flags, '--include=dev'];
  const args = isCurrent
    ? ['install', '--no-save', ...all]
    : ['ci', ...(wanted === 'all' ? all : [...flags, '--omit=dev'])];
  console.error(`svc: installing ${isCurrent ? 'what tests need' : 'packages'} …`);
  const begun = performance.now();
  const stop = showProgress();
  // The platform of root becomes a user that reads them, whatever root's umask is.
  if (process.getuid?.() === 0) process.umask(0o022);
  // What it says on its own output are counts and requests for money; what fails stands on the other.
  const npm = spawn('npm', [...args, '--no-progress'], { cwd: root, stdio: ['ignore', 'ignore', 2] });
  const [status] = await Promise.race([once(npm, 'exit'), once(npm, 'error').then(() => [1])]);
  stop();
  if (status !== 0) {
    console.error(`svc: npm ${args[0]} failed; see above`);
    return status ?? 1;
  }
  // Newer than the lock file, whatever npm found to write.
  const now = new Date();
  utimesSync(join(root, 'node_modules/.package-lock.json'), now, now);
  console.error(`svc: installed ${count()} packages in ${Math.round((performance.now() - begun) / 1000)} s`);
  return 0;
}

/** `all`, or `product`: what the platform runs on. */
const wanted = process.argv[2] ?? 'all';
const major = Number(process.versions.node.split('.')[0]);
if (major < 20) {
  console.error(`svc: needs Node.js 20 or newer to install itself, found ${process.version}`);
  process.exit(1);
}
takeLock();
let status = 1;
try {
  status = installed() && (wanted !== 'all' || hasAll()) ? 0 : await install();
} finally {
  rmSync(lock, { recursive: true, force: true });
}
process.exit(status);
