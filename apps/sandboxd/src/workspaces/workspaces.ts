import { randomUUID } from 'node:crypto';
import { chown, mkdir, readdir, rename, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { NodeError } from '../error.ts';
import type { Workspaces } from '../parts.ts';
import { runOk } from '../run.ts';
import type { SystemPackages } from '../system-packages.ts';
import { mountVolume, unmountVolume, type VolumeOptions } from './volume.ts';

/** More than this is `workspace_too_large` (spec). */
export const mostBytes = 2 * 1024 ** 3;

/** The directories of workspaces, and how they are held. */
export interface WorkspaceStore extends Workspaces {
  /** `xfs`: a volume of their own, on which a copy shares blocks. `plain`: directories. */
  kind: 'xfs' | 'plain';
  /** Whether the file system stops a workspace at its limit; if not, somebody has to look at `usage`. */
  limited: boolean;
  /** Why it is not `xfs`, or not limited, and what to do about it. */
  reason?: string;
  /** Takes the volume out of the tree; for tests and for who removes the state directory. */
  unmount(): Promise<void>;
}

export interface WorkspaceOptions {
  /** Directory of their own; the volume is `workspaces.img` in it. */
  dir: string;
  packages: SystemPackages;
  volume?: Partial<VolumeOptions>;
  /** Hard limits of one workspace; the blocks' is a little above what is allowed, so that going over can be seen. */
  limits?: { bytes: number; inodes: number };
  /** Plain directories also where the volume could be mounted. */
  plain?: boolean;
}

const defaultLimits = { bytes: mostBytes + 64 * 1024 ** 2, inodes: 200_000 };

/** Opens the workspaces of a machine: on a volume with quotas and shared blocks where it can be had, else plain. */
export async function openWorkspaces(options: WorkspaceOptions): Promise<WorkspaceStore> {
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  const volume = options.plain ? { reason: 'plain directories were asked for' } : await mountVolume(options);
  const limits = options.limits ?? defaultLimits;
  const at = 'path' in volume ? volume.path : join(options.dir, 'plain');
  const limited = 'path' in volume && volume.quotas;
  const places = new Places(at, limited ? (path) => limit(at, path, limits) : async () => {});
  await places.open();
  const usage = (id: string) => (limited ? quotaUsage(places.path(id), limits) : walkUsage(places.path(id)));
  return {
    kind: 'path' in volume ? 'xfs' : 'plain',
    limited,
    ...('reason' in volume && { reason: volume.reason }),
    ...('quotas' in volume && !volume.quotas && { reason: "this machine's kernel has XFS without quotas" }),
    path: (id) => places.path(id),
    create: (id, uid) => places.create(id, uid),
    clone: (from, to) => places.clone(from, to),
    remove: (id) => places.remove(id),
    list: () => places.list(),
    usage,
    isTooLarge: async (id) => (await usage(id)).bytes > mostBytes,
    // Sandboxes outlive this process, and have it mounted.
    close: async () => {},
    unmount: () => unmountVolume(options.dir),
  };
}

/** Directories with names, made whole and removed whole. */
class Places {
  readonly #at: string;
  readonly #trash: string;
  readonly #limit: (path: string) => Promise<void>;

  constructor(root: string, limit: (path: string) => Promise<void>) {
    this.#at = join(root, 'workspaces');
    this.#trash = join(root, 'trash');
    this.#limit = limit;
  }

  /** Makes what is missing, and removes what an ended process was about to. */
  async open(): Promise<void> {
    for (const path of [this.#at, this.#trash]) await mkdir(path, { recursive: true, mode: 0o711 });
    for (const name of await readdir(this.#trash)) await removeTree(join(this.#trash, name));
  }

  path(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(id)) throw new NodeError('bad_request', 'not the id of a workspace');
    return join(this.#at, id);
  }

  create(id: string, uid: number): Promise<string> {
    return this.#make(id, async (path) => {
      await own(path, uid);
      await mkdir(join(path, 'out'), { mode: 0o755 });
      await own(join(path, 'out'), uid);
    });
  }

  clone(from: string, to: string): Promise<string> {
    const source = this.path(from);
    // Reflinks where there are; links, FIFOs, sockets, holes, owners, modes, times and attributes stay what they are.
    return this.#make(to, async (path) => {
      await runOk('cp', ['-a', '-x', '-T', '--reflink=auto', source, path], { timeoutMs: 600_000 });
    });
  }

  async remove(id: string): Promise<void> {
    const gone = join(this.#trash, `${id}.${randomUUID()}`);
    try {
      await rename(this.path(id), gone);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    await removeTree(gone);
  }

  async list(): Promise<string[]> {
    return (await readdir(this.#at)).filter((name) => !name.startsWith('.'));
  }

  /** It gets its name when it is complete: a half copied one is never seen. */
  async #make(id: string, fill: (path: string) => Promise<void>): Promise<string> {
    const path = this.path(id);
    if (await stat(path).catch(() => undefined)) throw new Error(`workspace ${id} is there already`);
    const making = join(this.#trash, `${id}.${randomUUID()}`);
    try {
      await mkdir(making, { mode: 0o700 });
      // The limit first: what is made inside inherits it.
      await this.#limit(making);
      await fill(making);
      await rename(making, path);
      return path;
    } catch (error) {
      await removeTree(making).catch(() => {});
      throw error;
    }
  }
}

/** Only root can give it away; elsewhere the sandbox's user is the one that runs this. */
async function own(path: string, uid: number): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, uid, uid);
}

/**
 * Limits a directory and what will be in it. The project's number is the directory's inode number: nobody else has it
 * while the directory lives, and nothing has to be written down (a volume is below 1 TiB, so it fits 32 bits).
 */
async function limit(volume: string, path: string, limits: { bytes: number; inodes: number }): Promise<void> {
  const { ino } = await stat(path);
  if (ino > 0xffff_fffe) throw new Error(`inode ${ino} is no project number`);
  const name = path.slice(volume.length + 1);
  const commands = [
    `project -s -p ${name} ${ino}`,
    `limit -p bhard=${limits.bytes} ihard=${limits.inodes} ${ino}`,
  ].flatMap((command) => ['-c', command]);
  // xfs_quota's exit code is 0 even when a command of it failed; its argument cannot hold spaces, hence the relative one.
  await runOk('xfs_quota', ['-x', '-D', '/dev/null', '-P', '/dev/null', ...commands, volume], { cwd: volume });
  if ((await quotaOf(path, limits)) === undefined) throw new Error('the quota of a workspace could not be set');
}

/** Below a limited directory `statfs` speaks of the project: 20 microseconds, where asking xfs_quota takes 5 ms. */
async function quotaOf(path: string, limits: { bytes: number; inodes: number }) {
  const { blocks, bfree, bsize, files, ffree } = await statfs(path);
  if (blocks * bsize !== limits.bytes || files !== limits.inodes) return undefined;
  return { bytes: (blocks - bfree) * bsize, inodes: files - ffree };
}

async function quotaUsage(path: string, limits: { bytes: number; inodes: number }) {
  return (await quotaOf(path, limits)) ?? walkUsage(path);
}

/** Adds up a tree; `du` because it goes deeper than a path can be long. */
async function walkUsage(path: string): Promise<{ bytes: number; inodes: number }> {
  const ask = async (...how: string[]) =>
    Number.parseInt((await runOk('du', ['-s', '-x', ...how, '--', path], { timeoutMs: 120_000 })).trim(), 10);
  const [bytes, inodes] = await Promise.all([ask('-B1'), ask('--inodes')]);
  return { bytes, inodes };
}

/** `rm` of the system: any depth, any name, and no further than this file system. */
async function removeTree(path: string): Promise<void> {
  await runOk('rm', ['-rf', '--one-file-system', '--', path], { timeoutMs: 600_000 });
}
