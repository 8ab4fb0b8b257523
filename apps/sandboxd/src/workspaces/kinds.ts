import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, statfs } from 'node:fs/promises';
import { lastLine, run, runOk } from '../run.ts';

/** Makes, copies and removes the directory of a workspace. Sizes are bytes. */
export interface Holder {
  make(path: string): Promise<void>;
  /** With owners, modes, times, links and attributes; blocks are shared where the file system can. */
  copy(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  usage(path: string): Promise<Usage>;
}
export interface Usage {
  bytes: number;
  inodes: number;
}

/** A file system that a volume can be. */
export type VolumeKind = 'xfs' | 'btrfs';

/** How each is made and mounted. */
export const volumes: Readonly<
  Record<
    VolumeKind,
    { tools: Record<string, string>; mkfs: string[]; magic: { at: number; text: string }; options: string }
  >
> = {
  xfs: {
    tools: { 'mkfs.xfs': 'xfsprogs', xfs_quota: 'xfsprogs' },
    mkfs: ['mkfs.xfs', '-q', '-m', 'reflink=1'],
    magic: { at: 0, text: 'XFSB' },
    // XFS sets up to gigabytes aside behind the end of a growing file, which the quota would count.
    options: 'discard,allocsize=1m',
  },
  btrfs: {
    tools: { 'mkfs.btrfs': 'btrfs-progs', btrfs: 'btrfs-progs' },
    mkfs: ['mkfs.btrfs', '-q'],
    magic: { at: 0x1_0040, text: '_BHRfS_M' },
    options: 'discard=async',
  },
};

/**
 * The best first: XFS when Linux keeps its quotas; else btrfs, whose quotas come with it (some Linux kernels are built
 * with XFS and without its quotas); else XFS with none.
 */
export async function kindsOfThisKernel(): Promise<{ kind: VolumeKind; limited: boolean }[]> {
  for (const module of ['xfs', 'btrfs']) await run('modprobe', ['-q', module]).catch(() => {});
  const known = (await readFile('/proc/filesystems', 'utf8')).split(/\s+/);
  const quotas = existsSync('/proc/fs/xfs/xqmstat');
  const kinds = [
    ...(quotas ? [{ kind: 'xfs', limited: true } as const] : []),
    { kind: 'btrfs', limited: true } as const,
    { kind: 'xfs', limited: false } as const,
  ];
  return kinds.filter(({ kind }) => known.includes(kind));
}

/** Directories; `limit` is called with each empty new one. */
export function directoryHolder(
  limit?: (path: string) => Promise<void>,
  quota?: (path: string) => Promise<Usage | undefined>,
): Holder {
  const make = async (path: string) => {
    await mkdir(path, { mode: 0o700 });
    // First of all: what is made inside inherits it.
    await limit?.(path);
  };
  return {
    make,
    async copy(from, to) {
      await make(to);
      await stat(from);
      const words = ['LC_ALL=C', 'cp', '-a', '-x', '-T', '--reflink=auto', from, to];
      const { code, stderr } = await run('env', words, { timeoutMs: 600_000 });
      // Background processes go on while their files are copied.
      if (code !== 0 && !(code === 1 && onlyVanished(stderr, from))) throw new Error(`cp: ${lastLine(stderr) || code}`);
    },
    // `rm` of the system: any depth, any name, and no further than this file system.
    async remove(path) {
      await unlock(path);
      await runOk('rm', ['-rf', '--one-file-system', '--', path], { timeoutMs: 600_000 });
    },
    usage: async (path) => (await quota?.(path)) ?? walkUsage(path),
  };
}

/**
 * Lets the owner of a tree move and remove it, whatever modes it was given: nobody else has to, and root need not ask.
 * A failure is for who moves or removes it to tell.
 */
export async function unlock(path: string): Promise<void> {
  if (process.getuid?.() !== 0) await run('chmod', ['-R', 'u+rwX', '--', path], { timeoutMs: 600_000 });
}

/** Whether `cp`, in the locale C, complains of nothing but files below `from` that went away before it came to them. */
export function onlyVanished(complaints: string, from: string): boolean {
  const isGone = (line: string): boolean => {
    const [, path = ''] = /^cp: [a-z ]*['"](.*): No such file or directory$/.exec(line) ?? [];
    const [, replaced = ''] = /^cp: skipping file ['"](.*), as it was replaced while being copied$/.exec(line) ?? [];
    return (path || replaced).startsWith(`${from}/`);
  };
  return complaints.trimEnd().split('\n').every(isGone);
}

/**
 * The project's number is the directory's inode number: nobody else has it while the directory lives, and nothing has to
 * be written down (a volume is below 1 TiB, so it fits 32 bits).
 */
export function xfsHolder(volume: string, limits: Usage): Holder {
  // Below a limited directory `statfs` speaks of the project: 20 microseconds, where asking xfs_quota takes 5 ms.
  const quota = async (path: string) => {
    const { blocks, bfree, bsize, files, ffree } = await statfs(path);
    if (blocks * bsize !== limits.bytes || files !== limits.inodes) return undefined;
    return { bytes: (blocks - bfree) * bsize, inodes: files - ffree };
  };
  const limit = async (path: string) => {
    const { ino } = await stat(path);
    if (ino > 0xffff_fffe) throw new Error(`inode ${ino} is no project number`);
    const commands = [
      `project -s -p ${path.slice(volume.length + 1)} ${ino}`,
      `limit -p bhard=${limits.bytes} ihard=${limits.inodes} ${ino}`,
    ].flatMap((command) => ['-c', command]);
    // An argument of its commands cannot hold spaces, hence the relative one; its exit code says nothing of them.
    await runOk('xfs_quota', ['-x', '-D', '/dev/null', '-P', '/dev/null', ...commands, volume], { cwd: volume });
    const state = await runOk('xfs_quota', ['-x', '-c', `quota -p -N -v -b ${ino}`, volume]);
    if (!state.includes(String(limits.bytes / 1024))) throw new Error('the quota of a workspace could not be set');
  };
  return directoryHolder(limit, quota);
}

/** A subvolume for each: a copy is a snapshot, whatever is inside; file names and inodes count as bytes too. */
export function btrfsHolder(limits: Usage): Holder {
  const limit = async (path: string) =>
    void (await runOk('btrfs', ['qgroup', 'limit', String(limits.bytes), path], { timeoutMs: 120_000 }));
  return {
    async make(path) {
      await runOk('btrfs', ['subvolume', 'create', path]);
      await limit(path);
    },
    async copy(from, to) {
      await runOk('btrfs', ['subvolume', 'snapshot', from, to], { timeoutMs: 600_000 });
      await limit(to);
    },
    async remove(path) {
      const { code } = await run('btrfs', ['subvolume', 'delete', path], { timeoutMs: 600_000 });
      // It is not a subvolume, or has one inside: every user may make them.
      if (code !== 0) await runOk('rm', ['-rf', '--', path], { timeoutMs: 600_000 });
    },
    // Its own count is as old as the last commit, up to 30 s.
    usage: walkUsage,
  };
}

/** Adds up a tree; `du` because it goes deeper than a path can be long. What goes away meanwhile does not count. */
async function walkUsage(path: string): Promise<Usage> {
  const ask = async (...how: string[]) => {
    const { stdout, stderr } = await run('du', ['-s', '-x', ...how, '--', path], { timeoutMs: 120_000 });
    const sum = Number.parseInt(stdout, 10);
    if (!Number.isSafeInteger(sum)) throw new Error(lastLine(stderr) || 'du took too long');
    return sum;
  };
  const [bytes, inodes] = await Promise.all([ask('-B1'), ask('--inodes')]);
  return { bytes, inodes };
}
