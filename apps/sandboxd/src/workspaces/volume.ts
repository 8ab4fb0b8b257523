import { mkdir, open, readFile, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { run, runOk } from '../run.ts';
import type { SystemPackages } from '../system-packages.ts';

export interface VolumeOptions {
  /** How large the volume may grow; it takes what is in it. */
  sizeBytes: number;
  /** What it leaves free of the disk it is on. */
  reserveBytes: number;
}

const gib = 1024 ** 3;
const defaults: VolumeOptions = { sizeBytes: 200 * gib, reserveBytes: 10 * gib };
/** mkfs.xfs makes nothing below 300 MB. */
const leastBytes = 320 * 1024 ** 2;
/** Up to here every inode number fits 32 bits, as the number of a quota project has to. */
const mostBytes = 1024 * gib - gib;

// `discard`: what is removed inside goes back to the disk. `allocsize`: XFS sets up to gigabytes aside behind the end of
// a growing file, which the quota would count.
const mountOptions = 'loop,nosuid,nodev,noatime,discard,allocsize=1m';

/** A mounted volume, and whether its kernel keeps quotas: some are built with XFS and without them. */
export interface Volume {
  path: string;
  quotas: boolean;
}

/**
 * Mounts the volume of a state directory, an XFS image: made when there is none, found when it is mounted already,
 * repaired when it cannot be mounted. Answers why not, and what to do, where it cannot.
 */
export async function mountVolume(options: {
  dir: string;
  packages: SystemPackages;
  volume?: Partial<VolumeOptions>;
}): Promise<Volume | { reason: string }> {
  const path = join(options.dir, 'mnt');
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    return { reason: 'only root on Linux can mount the volume of the workspaces' };
  }
  const missing = await options.packages.ensure({
    'mkfs.xfs': 'xfsprogs',
    xfs_quota: 'xfsprogs',
    mount: 'mount',
    losetup: 'mount',
  });
  if (missing !== undefined) return { reason: `for the volume of the workspaces, ${missing}` };
  try {
    await mkdir(path, { recursive: true, mode: 0o711 });
    const found = await mounted(path);
    if (found) return found;
    const image = join(options.dir, 'workspaces.img');
    if (!(await isXfs(image))) await makeImage(image, { ...defaults, ...options.volume });
    await mountImage(image, path);
    const volume = await mounted(path);
    if (!volume) throw new Error('it is not where it was mounted');
    return volume;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { reason: `the volume of the workspaces cannot be mounted: ${reason}` };
  }
}

/** Takes the volume of a state directory out of the tree. */
export async function unmountVolume(dir: string): Promise<void> {
  const path = join(dir, 'mnt');
  if (await mounted(path)) await runOk('umount', [path]);
}

async function mountImage(image: string, path: string): Promise<void> {
  const mount = async () => {
    for (const quota of [',prjquota', '']) {
      const { code, stderr } = await run('mount', ['-t', 'xfs', '-o', mountOptions + quota, image, path], {
        timeoutMs: 120_000,
      });
      if (code === 0) return undefined;
      if (quota === '') return stderr.trim().split('\n')[0] ?? 'mount failed';
    }
    return undefined;
  };
  if ((await mount()) === undefined) return;
  // Without -L: a log that cannot be replayed is for a person to throw away.
  await run('xfs_repair', [image], { timeoutMs: 600_000 });
  const reason = await mount();
  if (reason !== undefined) throw new Error(reason);
}

/** Under another name until it is a file system: a process that ended half-way leaves no image behind. */
async function makeImage(image: string, { sizeBytes, reserveBytes }: VolumeOptions): Promise<void> {
  const making = `${image}.new`;
  await rm(making, { force: true });
  const { bavail, bsize } = await statfs(join(image, '..'));
  const size = Math.min(sizeBytes, bavail * bsize - reserveBytes, mostBytes);
  if (size < leastBytes) throw new Error('the disk has no room for it');
  const file = await open(making, 'wx', 0o600);
  try {
    await truncate(making, size - (size % 4096));
    await runOk('mkfs.xfs', ['-q', '-m', 'reflink=1', making], { timeoutMs: 120_000 });
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(making, image);
}

/** Whether the file begins as an XFS does; one without it was never finished. */
async function isXfs(image: string): Promise<boolean> {
  if (!(await stat(image).catch(() => undefined))) return false;
  const file = await open(image, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    return bytesRead === 4 && buffer.toString('latin1') === 'XFSB';
  } finally {
    await file.close();
  }
}

/** The XFS that is mounted at exactly this place. */
async function mounted(path: string): Promise<Volume | undefined> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  for (const line of lines) {
    const [left = '', right = ''] = line.split(' - ');
    const at = (left.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    if (at === path && right.startsWith('xfs ')) return { path, quotas: right.includes('prjquota') };
  }
  return undefined;
}
