import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, realpath, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NodeError } from '../error.ts';
import type { Workspaces } from '../parts.ts';
import type { SystemPackages } from '../system-packages.ts';
import { btrfsHolder, directoryHolder, type Holder, unlock, type Usage, type VolumeKind, xfsHolder } from './kinds.ts';
import { createSizes } from './usage.ts';
import { mountVolume, unmountVolume, type VolumeOptions } from './volume.ts';

/** More than this is `workspace_too_large` (spec), unless the node is told otherwise. */
const usualBytes = 2 * 1024 ** 3;

/** The directories of workspaces, and how they are held. */
export interface WorkspaceStore extends Workspaces {
  /** A volume of their own, on which a copy shares blocks; or `plain` directories. */
  kind: VolumeKind | 'plain';
  /** Why it is plain, or not limited, and what to do about it. */
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
  limits?: Usage;
  /** The limit of one workspace, if it is not 2 GiB. */
  mostBytes?: number;
  /** Plain directories also where the volume could be mounted. */
  plain?: boolean;
  /** Hears of what could not be removed. */
  log?(message: string, details: object): void;
}

/** A file system lets a workspace take this much beyond that, so that going over can be seen. */
const margin = 64 * 1024 ** 2;
const mostInodes = 200_000;

/** Opens the workspaces of a machine: on a volume with quotas and shared blocks where it can be had, else plain. */
export async function openWorkspaces(given: WorkspaceOptions): Promise<WorkspaceStore> {
  await mkdir(given.dir, { recursive: true, mode: 0o700 });
  // As the list of mounts in /proc says it.
  const options = { ...given, dir: await realpath(given.dir) };
  const volume = options.plain ? { reason: 'plain directories were asked for' } : await mountVolume(options);
  const { mostBytes = usualBytes } = options;
  const limits = options.limits ?? { bytes: mostBytes + margin, inodes: mostInodes };
  const mounted = 'path' in volume ? volume : undefined;
  const limited = mounted?.limited === true;
  const holder = !limited
    ? directoryHolder()
    : mounted.kind === 'xfs'
      ? xfsHolder(mounted.path, limits)
      : btrfsHolder(limits);
  const places = new Places(mounted?.path ?? join(options.dir, 'plain'), holder);
  await places.open((name, error) => options.log?.('rest of a workspace', { name, err: error }));
  const usage = (id: string) => holder.usage(places.whole(id));
  const most = { ...limits, bytes: Math.min(limits.bytes, mostBytes) };
  const sizes = createSizes(most, limited, (id) => places.whole(id), usage);
  return {
    kind: mounted?.kind ?? 'plain',
    limited,
    most,
    ...('reason' in volume && { reason: volume.reason }),
    ...(mounted && !limited && { reason: 'this kernel has XFS without quotas, and no btrfs or no btrfs-progs' }),
    path: (id) => places.path(id),
    local: (id) => places.local(id),
    create: (id, uid) => places.create(id, uid),
    clone: (from, to) => places.clone(from, to),
    remove(id) {
      sizes.forget(id);
      return places.remove(id);
    },
    list: () => places.list(),
    usage,
    // XFS counts by itself, and stops both; btrfs stops the bytes, whose sum has no part of its own for files.
    isWatched: !(limited && mounted.kind === 'xfs'),
    isTooLarge: (id, tookMs) => sizes.isOver(id, tookMs),
    watch(id) {
      const began = sizes.last(id);
      return () => sizes.hasOutgrown(id, began);
    },
    // Sandboxes outlive this process, and have it mounted.
    close: async () => {},
    unmount: () => unmountVolume(options.dir),
  };
}

/**
 * Directories with names, made whole and removed whole. Each holds `files`, the workspace itself, and `local`, what its
 * user installs: one limit and one copy for both, and nobody who lists the workspace meets packages. A release before had
 * the workspace alone, in `workspaces`: what is there stays as it is, since its snapshots want the mounts they were made with.
 */
class Places {
  readonly #at: string;
  readonly #older: string;
  readonly #trash: string;
  readonly #holder: Holder;

  constructor(root: string, holder: Holder) {
    this.#at = join(root, 'volumes');
    this.#older = join(root, 'workspaces');
    this.#trash = join(root, 'trash');
    this.#holder = holder;
  }

  /** Makes what is missing, and removes what an ended process was about to; `failed` hears of what stays. */
  async open(failed: (name: string, error: unknown) => void): Promise<void> {
    for (const path of [this.#at, this.#older, this.#trash]) await mkdir(path, { recursive: true, mode: 0o711 });
    for (const name of await readdir(this.#trash)) {
      await this.#holder.remove(join(this.#trash, name)).catch((error: unknown) => failed(name, error));
    }
  }

  /** All that counts against the limit of one. */
  whole(id: string): string {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(id)) throw new NodeError('bad_request', 'not the id of a workspace');
    const older = join(this.#older, id);
    return existsSync(older) ? older : join(this.#at, id);
  }

  path(id: string): string {
    const whole = this.whole(id);
    return this.#isOlder(whole) ? whole : join(whole, 'files');
  }

  local(id: string): string | undefined {
    const whole = this.whole(id);
    return this.#isOlder(whole) ? undefined : join(whole, 'local');
  }

  #isOlder(whole: string): boolean {
    return dirname(whole) === this.#older;
  }

  async create(id: string, uid: number): Promise<string> {
    await this.#make(id, this.#at, async (whole) => {
      await this.#holder.make(whole);
      await chmod(whole, 0o700);
      for (const [name, mode] of [
        ['', 0o700],
        ['files', 0o700],
        ['local', 0o700],
        ['files/out', 0o755],
      ] as const) {
        if (name !== '') await mkdir(join(whole, name), { mode });
        await own(join(whole, name), uid);
      }
    });
    return this.path(id);
  }

  async clone(from: string, to: string): Promise<string> {
    const source = this.whole(from);
    // A copy of an older one is for a snapshot of the parent, which knows no `local`.
    await this.#make(to, dirname(source), (whole) => this.#holder.copy(source, whole));
    return this.path(to);
  }

  async remove(id: string): Promise<void> {
    const gone = join(this.#trash, `${id}.${randomUUID()}`);
    const whole = this.whole(id);
    await unlock(whole);
    try {
      await rename(whole, gone);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    await this.#holder.remove(gone);
  }

  async list(): Promise<string[]> {
    const names = await Promise.all([this.#at, this.#older].map((path) => readdir(path)));
    return names.flat().filter((name) => !name.startsWith('.'));
  }

  /** It gets its name when it is complete: a half copied one is never seen. */
  async #make(id: string, at: string, fill: (whole: string) => Promise<void>): Promise<void> {
    if (existsSync(this.whole(id))) throw new Error(`workspace ${id} is there already`);
    const making = join(this.#trash, `${id}.${randomUUID()}`);
    try {
      await fill(making);
      await rename(making, join(at, id));
    } catch (error) {
      if (await stat(making).catch(() => undefined)) await this.#holder.remove(making).catch(() => {});
      throw error;
    }
  }
}

/** Only root can give it away; elsewhere the sandbox's user is the one that runs this. */
async function own(path: string, uid: number): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, uid, uid);
}
