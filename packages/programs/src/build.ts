// Bundles the programs of the product into a new folder; `launch.mjs` runs it where no bundle fits the sources.
// Usage: node build.ts <clone> <folder of bundles>
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fits, hashesFile, hashOf, headOf, listFile, nameOf, statOfFile, writeStats } from '../launch.mjs';
import { bundlePrograms, type Input, readInput } from './bundle.ts';
import { emptyLarge, removeUnused } from './unused.ts';

const [clone = '', bundles = ''] = process.argv.slice(2);
/**
 * What decides how sources and packages become a bundle. Packages themselves are taken at the word of what installed
 * them.
 */
const rules = [
  'package-lock.json',
  'node_modules/.package-lock.json',
  'packages/programs/programs.json',
  'packages/programs/launch.mjs',
];

const programs = JSON.parse(readFileSync(join(clone, 'packages/programs/programs.json'), 'utf8')) as string[];
for (const path of [dirname(bundles), bundles]) makeFolder(path);
const fresh = join(bundles, `new-${randomUUID()}`);
try {
  const ruled = await readRules();
  const { files, inputs } = await bundlePrograms(clone, fresh, programs);
  const name = await write(files, [...ruled, ...inputs]);
  await put(join(bundles, name));
  removeUnused(bundles);
  emptyLarge(join(bundles, '../compiled'));
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

async function readRules(): Promise<[string, Input][]> {
  const found = globSync(['{apps,packages}/*/package.json', 'packages/programs/src/*.ts'], { cwd: clone });
  const read = async (file: string): Promise<[string, Input]> => {
    try {
      const { hash, stat } = await readInput(clone, file);
      return [file, { hash, stat }];
    } catch {
      // It matters when it comes.
      return [file, { hash: '', stat: statOfFile(join(clone, file), 0) }];
    }
  };
  return Promise.all([...rules, ...found].map(read));
}

/** Writes a bundle and what it says of itself; answers its name, which is that of its content. */
async function write(files: ReadonlyMap<string, Uint8Array>, read: [string, Input][]): Promise<string> {
  const inputs = [...new Map(read)].sort(([one], [other]) => (one < other ? -1 : 1));
  const names = [...files.keys()].filter((name) => !name.endsWith('.map'));
  const made = names.map(async (name) => hashOf(files.get(name) as Uint8Array));
  const hashes = [...(await Promise.all(made)), ...inputs.map(([, { hash }]) => hash)].join('\n');
  const list = [headOf(names.length), ...names, ...inputs.map(([file]) => file)].join('\n');
  const whole = new Map([...files, [listFile, Buffer.from(list)], [hashesFile, Buffer.from(hashes)]]);
  mkdirSync(fresh);
  await Promise.all([...whole].map(async ([name, content]) => writeFile(join(fresh, name), content)));
  for (const name of whole.keys()) handOver(join(fresh, name), 0o644);
  handOver(fresh, 0o755);
  // Nobody else writes to these: how lately they changed says nothing.
  const stats = names.map((name) => statOfFile(join(fresh, name), 0));
  await writeStats(fresh, [...stats, ...inputs.map(([, { stat }]) => stat)]);
  return nameOf(list, hashes);
}

/** Puts the bundle in its place, at once. What stands there is another's of the same content, or broken. */
async function put(place: string): Promise<void> {
  if (existsSync(place)) {
    if (await fits(place)) return;
    renameSync(place, join(bundles, `old-${randomUUID()}`));
  }
  try {
    renameSync(fresh, place);
  } catch (error) {
    // Another build was faster.
    if (!existsSync(place)) throw error;
  }
}

/** For all to read and for the clone's owner to remove, whatever root's umask is. */
function handOver(path: string, mode: number): void {
  chmodSync(path, mode);
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(join(clone, 'package.json'));
  lchownSync(path, uid, gid);
}

/** Makes a folder that all may enter; the cache of compiled code may have made it for one user alone. */
function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true });
  const { mode, uid } = statSync(path);
  if ([0, uid].includes(process.geteuid?.() ?? uid)) handOver(path, (mode & 0o777) | 0o055);
}
