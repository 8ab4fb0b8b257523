import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createImages } from '../apps/sandboxd/src/images/images.ts';
import { debianMirror } from '../apps/sandboxd/src/images/mirror.ts';
import { recipes } from '../apps/sandboxd/src/images/recipes.ts';

/** Not in this turn: it takes minutes on a busy machine, and a process of tests that says nothing for five is ended. */
const run = promisify(execFile);
const keptMs = 24 * 3_600_000;

/** The place of an image with further packages of Debian, or the reason why it is missing. */
export type TestImage = { images: string } | { missing: string };

/**
 * An image `svc-base` with further packages, unpacked as Debian has them and not configured. It is made beside the
 * images of the tests, a copy of theirs, and kept while the packages are the same. A hard link would change the files
 * of the image that other tests export meanwhile: tar takes a new link for a change.
 */
export async function imageWith(images: string, packages: readonly string[]): Promise<TestImage> {
  const place = join(dirname(images), 'test-images');
  const mirror = await debianMirror();
  if (mirror === undefined) return { missing: 'apt on this machine has no Debian mirror' };
  const base = createImages({ dir: images, builder: { build: () => Promise.reject(new Error('not here')) } }).get(
    'svc-base',
  );
  if (!base) return { missing: 'no image svc-base' };
  const archives = await fetchPackages(join(place, 'apt'), mirror, base.rootfs, packages);
  if (typeof archives === 'string') return { missing: archives };
  const name = createHash('sha256')
    .update(JSON.stringify([base.digest, archives.map((path) => basename(path))]))
    .digest('hex');
  const made = join(place, name);
  if (!existsSync(made)) {
    // Of earlier versions of the image, or of the packages; younger ones may be another run's.
    for (const old of readdirSync(place).map((entry) => join(place, entry)))
      if (basename(old) !== 'apt' && Date.now() - statSync(old).ctimeMs > keptMs)
        await rm(old, { recursive: true, force: true });
    const work = join(place, `.making-${process.pid}`);
    const image = join(work, name);
    mkdirSync(image, { recursive: true });
    await run('cp', ['-a', '--reflink=auto', base.rootfs, join(image, 'rootfs')]);
    for (const archive of archives) {
      const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink';
      await run('bash', ['-c', `set -o pipefail; ${unpack}`, 'unpack', archive, join(image, 'rootfs')]);
    }
    const said = JSON.parse(readFileSync(join(dirname(base.rootfs), 'image.json'), 'utf8'));
    writeFileSync(join(image, 'image.json'), JSON.stringify({ ...said, digest: `sha256:${name}` }));
    if (existsSync(join(images, 'runtime'))) await run('cp', ['-a', join(images, 'runtime'), join(work, 'runtime')]);
    renameSync(work, made);
  }
  return { images: made };
}

/** Fetches packages with what they need beyond a root file system; answers the archives, or why it cannot. */
async function fetchPackages(
  dir: string,
  mirror: string,
  rootfs: string,
  packages: readonly string[],
): Promise<string[] | string> {
  for (const name of ['lists/partial', 'cache/archives/partial', 'tmp'])
    mkdirSync(join(dir, name), { recursive: true });
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : '';
  writeFileSync(join(dir, 'sources.list'), `deb ${signed}${mirror} ${recipes['svc-base'].suite} main\n`);
  const settings = {
    'Dir::Etc::sourcelist': join(dir, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': join(dir, 'lists'),
    'Dir::State::status': join(rootfs, 'var/lib/dpkg/status'),
    'Dir::Cache': join(dir, 'cache'),
    'APT::Sandbox::User': 'root',
    'APT::Install-Recommends': 'false',
  };
  const words = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  /** What it wrote; throws with what it complained of. */
  const apt = async (...command: string[]): Promise<string> => {
    const env = { ...process.env, TMPDIR: join(dir, 'tmp') };
    const options = { env, timeout: 120_000, maxBuffer: 16 * 1024 * 1024 };
    return (await run('apt-get', [...words, ...command], options)).stdout;
  };
  let plan: string;
  try {
    await apt('update');
    await apt('--download-only', '-y', 'install', ...packages);
    plan = await apt('--simulate', 'install', ...packages);
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    return `apt cannot fetch ${packages.join(', ')}: ${stderr.trim().split('\n').at(-1)}`;
  }
  const planned = plan.matchAll(/^Inst (\S+) (?:\[\S+\] )?\((\S+) /gm);
  const wanted = new Set([...planned].map(([, name, version = '']) => `${name}_${version.replaceAll(':', '%3a')}`));
  const archives = join(dir, 'cache/archives');
  return readdirSync(archives)
    .filter((name) => name.endsWith('.deb') && wanted.has(name.split('_').slice(0, 2).join('_')))
    .sort()
    .map((name) => join(archives, name));
}
