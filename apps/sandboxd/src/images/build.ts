import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync } from 'node:fs';
import { copyFile, mkdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Template } from '@svc/contract';
import { NodeError } from '../error.ts';
import { exited, runOk } from '../run.ts';
import type { SystemPackages } from '../system-packages.ts';
import { fetchAdvice } from './advice.ts';
import { debianMirror } from './mirror.ts';
import { createProgressReader, type Progress } from './progress.ts';
import { type Recipe, rootfsFiles } from './recipes.ts';

/** Makes the root file system of a recipe as a tar stream. */
export interface TarBuilder {
  /** Hands the tar to `take`, once. Throws with what to do about it when it cannot. */
  build(
    recipe: Recipe,
    places: Places,
    take: (tar: Readable) => Promise<void>,
    onProgress: (progress: Progress) => void,
  ): Promise<void>;
}

interface Places {
  /** What it needs on the way goes below it. */
  work: string;
  /** The root file system that the recipe adds to, which is copied; undefined for one that begins with nothing. */
  on: string | undefined;
}

/** An unpacked image. */
export interface Unpacked {
  digest: string;
  bytes: number;
}

/** Free space that a build must find: the tree while it is made, the unpacked one, and what apt fetches. */
const neededBytes = 5 * 1024 ** 3;
/** The slowest seen is 3 minutes for office-acte; a slow mirror gets its chance, a hanging one an end. */
const longestMs = 60 * 60_000;

interface BuilderOptions {
  packages: SystemPackages;
  /** Debian mirror; default the one apt uses. */
  mirror?: string | undefined;
}

/** Builds with mmdebstrap, which needs root. */
export function createTarBuilder({ packages, mirror }: BuilderOptions): TarBuilder {
  return {
    async build(recipe, { work, on }, take, onProgress) {
      onProgress({ progress: 0, step: 'looking for what the build needs' });
      const from = await prepare(packages, mirror, work, recipe.template);
      if (on === undefined) onProgress({ progress: 0.01, step: 'fetching Node and npm' });
      const command = on === undefined ? whole(recipe, from, await fetchModules(work)) : added(recipe, from, on);
      await debootstrap(recipe, work, command, take, onProgress);
    },
  };
}

async function prepare(
  packages: SystemPackages,
  mirror: string | undefined,
  work: string,
  name: Template,
): Promise<string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new NodeError('sandbox_capacity', `only root builds images, on Linux; ${fetchAdvice(name)}`);
  }
  const missing = await packages.ensure({ mmdebstrap: 'mmdebstrap', tar: 'tar', unshare: 'util-linux' });
  if (missing !== undefined) throw new NodeError('sandbox_capacity', `to build an image, ${missing}`);
  const from = mirror ?? (await debianMirror());
  if (from === undefined) {
    throw new NodeError('sandbox_capacity', 'apt on this machine has no Debian mirror, which images are built from');
  }
  const { bavail, bsize } = await statfs(work);
  if (bavail * bsize < neededBytes) {
    throw new NodeError('sandbox_capacity', `building an image needs 5 GiB free below ${dirname(work)}`);
  }
  return from;
}

/** Node.js, npm and the libraries beside them from npm's registry, each checked against the lock file. */
async function fetchModules(work: string): Promise<string> {
  const modules = join(work, 'node');
  await mkdir(modules);
  for (const name of ['package.json', 'package-lock.json']) {
    await copyFile(join(rootfsFiles, 'node', name), join(modules, name));
  }
  await runOk('npm', ['ci', '--prefix', modules, '--ignore-scripts', '--no-audit', '--no-fund'], {
    timeoutMs: 600_000,
    cwd: modules,
  });
  return modules;
}

const script = join(rootfsFiles, 'customize.sh');
const usual = [
  'mmdebstrap --mode=root --components=main --format=tar --verbose'.split(' '),
  ['--aptopt=APT::Install-Recommends "false"', '--aptopt=APT::Sandbox::User "root"'],
  ['doc', 'man', 'locale'].map((kind) => `--dpkgopt=path-exclude=/usr/share/${kind}/*`),
  // Each of 70 packages would compile its Python files, which `customize.sh` does once and otherwise.
  ['--dpkgopt=path-exclude=/usr/bin/py3compile'],
].flat();
const source = ({ suite }: Recipe, mirror: string): string[] => [suite, '-', `deb ${mirror} ${suite} main`];

/** `"$1"` is the root, as mmdebstrap calls its hooks. */
const hook = (kind: string, words: readonly string[]): string =>
  `--${kind}-hook=sh ${quoted(script)} "$1" ${words.map(quoted).join(' ')}`;

/** Debian's essential packages and those of the recipe, and what `customize.sh` makes of them. */
function whole(recipe: Recipe, mirror: string, modules: string): string[] {
  const { template, epoch, packages, pptx } = recipe;
  const made = hook('customize', ['whole', template, String(epoch), modules, pptx]);
  const about = ['--variant=minbase', `--include=${packages.join(',')}`, made];
  return [...usual, ...about, ...source(recipe, mirror)];
}

/** A copy of another image, the packages of the recipe, and what `customize.sh` makes of them. */
function added(recipe: Recipe, mirror: string, on: string): string[] {
  const { template, epoch, packages } = recipe;
  const made = hook('customize', ['added', template, String(epoch), ...packages]);
  return [...usual, '--variant=custom', hook('setup', ['copy', on]), made, ...source(recipe, mirror)];
}

async function debootstrap(
  recipe: Recipe,
  work: string,
  command: readonly string[],
  take: (tar: Readable) => Promise<void>,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const temporary = join(work, 'tmp');
  await mkdir(temporary);
  // In namespaces of its own, bound to our life: nothing stays mounted and nothing runs on, however this process ends.
  const guarded = 'setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc';
  const child = spawn(
    'nice',
    [
      '-n',
      '5',
      'env',
      // The system's own: a python3 that somebody put before it starts six shells, once for each package.
      'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
      `TMPDIR=${temporary}`,
      `SOURCE_DATE_EPOCH=${recipe.epoch}`,
      ...guarded.split(' '),
      ...command,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: longestMs,
      killSignal: 'SIGKILL',
    },
  );
  const log = createWriteStream(join(dirname(work), `${recipe.template}.log`));
  // A full disk fails the build by itself; the log then ends early.
  log.on('error', () => {});
  const read = createProgressReader();
  let failure = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    log.write(`${line}\n`);
    // The first complaint is the cause; what follows only says that it all failed.
    if (/^E: |No space left on device/.test(line)) failure ||= line.replace(/^E: /, '');
    const progress = read(line);
    if (progress) onProgress(progress);
  });
  try {
    const [code] = await Promise.all([exited(child), take(child.stdout)]);
    if (code !== 0) throw new Error(failure || `mmdebstrap ended with ${code ?? 'a signal'}`);
  } catch (error) {
    child.kill('SIGKILL');
    throw failure ? new Error(failure, { cause: error }) : error;
  } finally {
    log.end();
  }
}

/** Unpacks a tar into `rootfs`, and hashes and counts its bytes on the way; `owners` takes root. */
export async function unpackTar(tar: Readable, rootfs: string, { owners = true } = {}): Promise<Unpacked> {
  // Nothing is awaited before the stream has its reader: Node.js drops what a child wrote when it ends without one.
  mkdirSync(rootfs, { mode: 0o755 });
  const owner = owners ? '--same-owner' : '--no-same-owner';
  const child = spawn('tar', ['-x', '-p', '--numeric-owner', owner, '--xattrs', '-C', rootfs], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 4096);
  });
  // Both are waited for: who removes what was unpacked must meet nobody who unpacks.
  const [ended, fed] = await Promise.allSettled([exited(child), feed(tar, child.stdin)]);
  if (ended.status === 'rejected') throw ended.reason;
  if (fed.status === 'rejected') throw fed.reason;
  if (ended.value !== 0) throw new Error(complaint.split('\n')[0] || `tar ended with ${ended.value ?? 'a signal'}`);
  return fed.value;
}

/** Every byte is hashed, also those behind the end mark, where the unpacking tar may be gone already. */
async function feed(tar: Readable, into: Writable): Promise<Unpacked> {
  const hash = createHash('sha256');
  let bytes = 0;
  const gone = new Promise<void>((resolve) => into.once('close', resolve).on('error', () => resolve()));
  try {
    for await (const chunk of tar as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
      if (into.writable && !into.write(chunk)) {
        await Promise.race([gone, new Promise((resolve) => into.once('drain', resolve))]);
      }
    }
  } finally {
    into.end();
  }
  return { digest: `sha256:${hash.digest('hex')}`, bytes };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
