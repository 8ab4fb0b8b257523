// Starts a program of the product: from a bundle where one fits the sources, which starts in half the time, else from its source.
// Usage: node launch.mjs <source of the program, as seen from the clone> <its words …>, or --folder: prints the bundle's folder.
// Built-in modules only, and few of them: every start of every command waits for this.
import {
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

const clone = resolve(import.meta.dirname, '../..');
/** Beside the packages: whoever can write here can write to those too, which run as well. */
const bundles = join(clone, 'node_modules/.cache/bundles');
const places = [join(clone, 'node_modules'), dirname(bundles), bundles];
/** The files that a bundle is made of, a line each, its own first; above them for which Node.js it is and how many are its own. */
export const listFile = 'files';
/** The hashes of their contents, in that order; read only where a stat differs. */
export const hashesFile = 'hashes';
/** Their stats as numbers of 8 bytes: compared as they are, as 1,600 files are looked at in each start. */
const statsFile = 'stats';
const numbersOfStat = 4;
const writableByOthers = 0o022;
/** A file that changed just before its stat was taken may change once more under the same one: so long clocks of disks tick. */
const tickMs = 100;
/** The first line of a list. */
export const headOf = (own) => `${process.version} ${process.platform} ${process.arch} ${own}`;

/** What the owners of a clone may be: root, its own, who runs it. */
const owners = new Set([0, process.geteuid?.() ?? 0, statSync(join(clone, 'package.json')).uid]);

/** Whether only those who may change the sources could have written this. */
const isTrusted = ({ uid, mode }) => owners.has(uid) && (mode & writableByOthers) === 0;

/**
 * A folder of ours, and no link to one elsewhere: paths of a bundle are seen from its own place. Others of the group may write
 * where they may write to the packages; what they put there is theirs, and not trusted.
 */
function isOwnFolder(path) {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && owners.has(found.uid) && (found.mode & 0o002) === 0;
}

const statOf = (path) => statSync(path, { throwIfNoEntry: false });

/**
 * The stat of a file by which a change is seen, zeros where there is none; `now`: empty where it changed so lately that it may
 * change again unseen.
 */
export function statOfFile(path, now) {
  const found = statOf(path);
  if (found === undefined) return [0, 0, 0, 0];
  if (Math.abs(now - found.ctimeMs) < tickMs) return [];
  return [found.size, found.mtimeMs, found.ctimeMs, found.ino];
}

/** Stats as they are kept. One that is empty is like none of a file. */
export function bytesOf(stats) {
  const numbers = new Float64Array(stats.length * numbersOfStat).fill(NaN);
  for (const [at, stat] of stats.entries()) numbers.set(stat, at * numbersOfStat);
  return Buffer.from(numbers.buffer);
}

/** The hash of a content, as a manifest has it. */
export async function hashOf(content) {
  const { createHash } = await import('node:crypto');
  return createHash('sha256').update(content).digest('hex').slice(0, 32);
}

/** The name of a bundle with this list and these hashes. */
export const nameOf = async (list, hashes) => (await hashOf(`${list}\n${hashes}`)).slice(0, 16);

/** Writes the stats of a bundle's files, whole or not at all. */
export async function writeStats(folder, stats) {
  const { chmodSync, lchownSync, rmSync } = await import('node:fs');
  const path = join(folder, `${statsFile}.${process.pid}`);
  try {
    writeFileSync(path, bytesOf(stats));
    chmodSync(path, 0o644);
    const { uid, gid } = statSync(folder);
    if (process.geteuid?.() === 0) lchownSync(path, uid, gid);
    renameSync(path, join(folder, statsFile));
  } catch {
    // A folder of another user, or a full disk: the contents are compared at each start.
    rmSync(path, { force: true });
  }
}

/** A file of a bundle; undefined where it is not there or somebody else could have written it. */
function read(path) {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() && isTrusted(found) ? readFileSync(path) : undefined;
}

/** The files of a bundle by their paths; undefined where it is of another Node.js, or not one that may be run. */
function listOf(folder) {
  const [head = '', ...files] = `${(isTrusted(lstatSync(folder)) && read(join(folder, listFile))) || ''}`.split('\n');
  const own = Number(head.slice(head.lastIndexOf(' ')));
  if (head !== headOf(own)) return undefined;
  return files.map((file, at) => (at < own ? `${folder}/${file}` : `${clone}/${file}`));
}

/**
 * Whether the bundle is whole and made of the files that are there: by their stats, and where one differs by all contents. A
 * clone may have been copied, or a file written again as it was.
 */
export async function fits(folder) {
  const files = listOf(folder);
  if (files === undefined) return false;
  const numbers = new Float64Array(files.length * numbersOfStat);
  let at = 0;
  for (const file of files) {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found !== undefined) {
      if (file.startsWith(folder) && !isTrusted(found)) return false;
      numbers[at] = found.size;
      numbers[at + 1] = found.mtimeMs;
      numbers[at + 2] = found.ctimeMs;
      numbers[at + 3] = found.ino;
    }
    at += numbersOfStat;
  }
  return read(join(folder, statsFile))?.equals(Buffer.from(numbers.buffer)) || (await hasContents(folder, files));
}

/** The same by the contents; notes the stats of what was read. */
async function hasContents(folder, files) {
  const [list, text] = [listFile, hashesFile].map((name) => read(join(folder, name)) ?? '');
  if ((await nameOf(list, text)) !== basename(folder)) return false;
  const hashes = `${text}`.split('\n');
  const now = Date.now();
  const stats = files.map((file) => statOfFile(file, now));
  for (const [at, file] of files.entries()) {
    const hash = existsSync(file) ? await hashOf(readFileSync(file)) : '';
    if (hash !== hashes[at]) return false;
  }
  await writeStats(folder, stats);
  return true;
}

/** The newest bundle that fits; undefined where there is none. */
async function find() {
  try {
    return await newest();
  } catch {
    // A bundle that was removed or broken while it was looked at.
    return undefined;
  }
}

async function newest() {
  if (!places.every(isOwnFolder)) return undefined;
  const folders = readdirSync(bundles)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => join(bundles, name));
  const sorted = folders.map((folder) => [folder, statOf(folder)?.mtimeMs ?? 0]).sort(([, a], [, b]) => b - a);
  for (const [folder] of sorted) if (await fits(folder)) return folder;
  return undefined;
}

/** The nearest folder that is there: the bundle is made in it. */
const nearest = (path) => (statOf(path) ? path : nearest(dirname(path)));

/** Bundles the sources in a process of its own; answers why there is no bundle, or undefined. */
async function build() {
  const { accessSync, constants } = await import('node:fs');
  const { spawnSync } = await import('node:child_process');
  try {
    const strange = places.find((place) => lstatSync(place, { throwIfNoEntry: false }) && !isOwnFolder(place));
    if (strange !== undefined) return `${strange} is a link, or others can write there`;
    accessSync(nearest(bundles), constants.W_OK);
  } catch (error) {
    return error.message;
  }
  const builder = join(clone, 'packages/programs/src/build.ts');
  const words = ['--disable-warning=ExperimentalWarning', builder, clone, bundles];
  const { status, stderr, error } = spawnSync(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  return status === 0 ? undefined : (error?.message ?? `${stderr}`.trim());
}

/** The folder of a bundle of the sources as they are; undefined where none can be made: the sources themselves run. */
async function bundleOf() {
  if (process.env.SVC_TEST_SOURCE) return undefined;
  const found = await find();
  if (found) return found;
  const failure = await build();
  const built = failure === undefined ? await find() : undefined;
  if (!built && process.env.SVC_LOG_LEVEL === 'debug')
    process.stderr.write(`svc: runs from its sources: ${failure ?? 'they change'}\n`);
  return built;
}

if (import.meta.main) {
  const [, , program] = process.argv;
  const folder = await bundleOf();
  if (program === '--folder') process.stdout.write(folder ?? '');
  else {
    const bundled = folder && join(folder, `${program.replace(/\.ts$/, '').replaceAll('/', '.')}.mjs`);
    const file = bundled && existsSync(bundled) ? bundled : join(clone, program);
    // Who clears old bundles away sees by this that one is used.
    if (file === bundled) openSync(file, 'r');
    process.argv.splice(1, 2, file);
    const { pathToFileURL } = await import('node:url');
    await import(pathToFileURL(file).href);
  }
}
