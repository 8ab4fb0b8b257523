import { mkdir, open, readFile, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { lastLine, run, runOk } from '../run.ts';
import type { SystemPackages } from '../system-packages.ts';
import { kindsOfThisKernel, type VolumeKind, volumes } from './kinds.ts';

export interface VolumeOptions {
  /** How large the volume may grow; it takes what is in it. */
  sizeBytes: number;
  /** Bytes that it leaves free of the disk it is on. */
  reserveBytes: number;
  /** File system, instead of the best that Linux has here. */
  kind?: VolumeKind;
}

/** A mounted volume, and whether it stops a workspace at its limit. */
interface Volume {
  path: string;
  kind: VolumeKind;
  limited: boolean;
}

const gib = 1024 ** 3;
const defaults: VolumeOptions = { sizeBytes: 200 * gib, reserveBytes: 10 * gib };
/** mkfs.xfs makes nothing below 300 MB. */
const leastBytes = 320 * 1024 ** 2;
/** Up to here every inode number of XFS fits 32 bits, as the number of a quota project has to. */
const mostBytes = 1024 * gib - gib;

/**
 * Mounts the volume of a state directory, one file: makes it when it is missing, finds it when it is mounted already, repairs
 * it when it cannot be mounted. If it cannot be used, answers why, and how to fix it.
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
  try {
    await mkdir(path, { recursive: true, mode: 0o711 });
    const found = await mounted(path);
    if (found) return found;
    const image = join(options.dir, 'workspaces.img');
    const kind = (await kindOf(image)) ?? (await choose(options, image));
    const missing = await options.packages.ensure({ ...volumes[kind].tools, mount: 'mount', losetup: 'mount' });
    if (missing !== undefined) throw new Error(missing);
    await mountImage(image, path, kind);
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

/** Makes an image of the best kind whose tools are there, or can be. */
async function choose(
  { packages, volume }: { packages: SystemPackages; volume?: Partial<VolumeOptions> },
  image: string,
): Promise<VolumeKind> {
  const kinds = (await kindsOfThisKernel()).filter(({ kind }) => volume?.kind === undefined || kind === volume.kind);
  let missing: string | undefined;
  for (const { kind } of kinds) {
    missing = await packages.ensure(volumes[kind].tools);
    if (missing !== undefined) continue;
    await makeImage(image, kind, { ...defaults, ...volume });
    return kind;
  }
  throw new Error(missing ?? 'this kernel has neither XFS nor btrfs');
}

async function mountImage(image: string, path: string, kind: VolumeKind): Promise<void> {
  // `discard` gives removed files' space back to the disk.
  const options = `loop,nosuid,nodev,noatime,${volumes[kind].options}`;
  const attempts = kind === 'xfs' ? [`${options},prjquota`, options] : [options];
  let complaint = '';
  for (const repaired of [false, true]) {
    // Without -L: a log that cannot be replayed is for a person to throw away.
    if (repaired && kind === 'xfs') await run('xfs_repair', [image], { timeoutMs: 600_000 });
    for (const attempt of attempts) {
      const { code, stderr } = await run('mount', ['-t', kind, '-o', attempt, image, path], { timeoutMs: 120_000 });
      if (code === 0) {
        if (kind === 'xfs') return;
        const quota = await run('btrfs', ['quota', 'enable', path]);
        if (quota.code === 0) return;
        await run('umount', [path]);
        throw new Error(lastLine(quota.stderr));
      }
      complaint = stderr.trim().split('\n')[0] ?? '';
    }
  }
  throw new Error(complaint || 'mount failed');
}

/** Under another name until it is a file system: a process that ended half-way leaves no image behind. */
async function makeImage(image: string, kind: VolumeKind, { sizeBytes, reserveBytes }: VolumeOptions): Promise<void> {
  const making = `${image}.new`;
  await rm(making, { force: true });
  const { bavail, bsize } = await statfs(join(image, '..'));
  const size = Math.min(sizeBytes, bavail * bsize - reserveBytes, mostBytes);
  if (size < leastBytes) throw new Error('the disk has no room for it');
  const file = await open(making, 'wx', 0o600);
  try {
    await truncate(making, size - (size % 4096));
    const [mkfs = '', ...flags] = volumes[kind].mkfs;
    await runOk(mkfs, [...flags, making], { timeoutMs: 120_000 });
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(making, image);
}

/** The file system that the file begins as; one without any was never finished. */
async function kindOf(image: string): Promise<VolumeKind | undefined> {
  if (!(await stat(image).catch(() => undefined))) return undefined;
  const file = await open(image, 'r');
  try {
    for (const kind of ['xfs', 'btrfs'] as const) {
      const { at, text } = volumes[kind].magic;
      const { buffer } = await file.read(Buffer.alloc(text.length), 0, text.length, at);
      if (buffer.toString('latin1') === text) return kind;
    }
    return undefined;
  } finally {
    await file.close();
  }
}

/** The volume that is mounted at exactly this place. */
async function mounted(path: string): Promise<Volume | undefined> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  for (const line of lines) {
    const [left = '', right = ''] = line.split(' - ');
    const at = (left.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const kind = right.split(' ')[0];
    if (at !== path || (kind !== 'xfs' && kind !== 'btrfs')) continue;
    return { path, kind, limited: kind === 'btrfs' || right.includes('prjquota') };
  }
  return undefined;
}
