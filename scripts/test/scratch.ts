import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a run's tests write. */
export interface Scratch {
  /** The folder; `TMPDIR` names it for the run and all that it starts. */
  readonly path: string;
  /** `disk` makes each test database dear: the run's last lines say so. */
  readonly kind: 'mounted' | 'shared memory' | 'disk';
  /** Removes it with all that is in it. */
  remove(): void;
}

/** Source of the mounts of runs: the process that made it, and when that began, since pids are given again. */
const prefix = 'svc-tests';
/**
 * Larger than the memory, of which tests use less than 1 GiB: a sandbox node leaves 10 GiB of its disk free, and where
 * they are not there it keeps files in plain folders, without a volume and its limits.
 */
const mountSize = '64g';
/** `/dev/shm` of a container may have 64 MiB. */
const leastShared = 2 * 1024 ** 3;
/** Tests that have less than this left fail one after the other, each for a reason of its own. */
const leastLeft = 256 * 1024 ** 2;
const program = join(import.meta.dirname, '../../apps/sandboxd/src/main.ts');

/**
 * Makes the folder that tests write to, in memory where it can: `create database` writes 1,019 files, which takes 200
 * to 700 ms of processor time on an ext4 without a journal, and 20 ms in memory. What a killed run left there is
 * removed first.
 */
export function openScratch(): Scratch {
  clearDead();
  const scratch = mount() ?? folder();
  process.env['TMPDIR'] = scratch.path;
  return scratch;
}

/** Why tests cannot go on in a folder; undefined where they can. */
export function whyFull(path: string): string | undefined {
  const { bavail, bsize } = statfsSync(path);
  const inMemory = /^MemAvailable:\s+(\d+) kB/m.exec(read('/proc/meminfo'))?.[1];
  const left = Math.min(bavail * bsize, inMemory === undefined ? Infinity : Number(inMemory) * 1024);
  if (left >= leastLeft) return undefined;
  return `${path} has ${Math.round(left / 1024 ** 2)} MiB left: the run was ended`;
}

function mount(): Scratch | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const path = mkdtempSync(join(tmpdir(), `${prefix}-`));
  const source = [prefix, process.pid, begunAt(process.pid)].join(':');
  const words = ['-t', 'tmpfs', '-o', `size=${mountSize},mode=1777`, source, path];
  if (spawnSync('mount', words, { stdio: 'ignore' }).status !== 0) {
    rmSync(path, { recursive: true });
    return undefined;
  }
  return { path, kind: 'mounted', remove: () => unmount(path) };
}

function folder(): Scratch {
  const isShared =
    process.platform === 'linux' && existsSync('/dev/shm') && freeOf('/dev/shm') >= leastShared && mayRunIn('/dev/shm');
  const path = mkdtempSync(join(isShared ? '/dev/shm' : tmpdir(), `${prefix}-`));
  // A database in a folder that others cannot enter is placed elsewhere when this runs as root, and would stay there.
  chmodSync(path, 0o755);
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  return { path, kind: isShared ? 'shared memory' : 'disk', remove };
}

/** Whether programs may be started from a mount: tests write some, and containers often forbid it for `/dev/shm`. */
function mayRunIn(mount: string): boolean {
  const lines = readFileSync('/proc/mounts', 'utf8').split('\n');
  const options = lines.findLast((line) => line.split(' ')[1] === mount)?.split(' ')[3] ?? '';
  return !options.split(',').includes('noexec');
}

function freeOf(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Ends what runs in the mounts of runs that were killed, and removes them; those of runs that live are left alone. */
function clearDead(): void {
  for (const line of read('/proc/mounts').split('\n')) {
    const [source = '', path = '', type] = line.split(' ');
    const [name, pid = '', begun] = source.split(':');
    if (name !== prefix || type !== 'tmpfs' || begun === undefined || begunAt(Number(pid)) === begun) continue;
    endAll(path);
    // A node that was killed left sandboxes in control groups, and its volume mounted.
    for (const node of nodesIn(path)) {
      spawnSync(process.execPath, [program, 'clear', '--dir', node], { stdio: 'ignore', timeout: 60_000 });
    }
    endAll(path);
    unmount(path);
  }
}

/** Kills every process whose command, environment or folder names the path. */
function endAll(path: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const words = `${read(`/proc/${pid}/cmdline`)}\0${read(`/proc/${pid}/environ`)}\0${folderOf(pid)}`;
    if (!words.includes(`${path}/`) && !words.includes(`TMPDIR=${path}\0`)) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

/** Folders of sandbox nodes, which lie at most two folders down: `svc-sb-x`, `svc-e2e-x/data/sandboxd`. */
function nodesIn(path: string, depth = 3): string[] {
  if (depth < 0) return [];
  const folders = foldersIn(path);
  if (folders.includes('workspaces')) return [path];
  return folders.flatMap((name) => nodesIn(join(path, name), depth - 1));
}

/** Names of the folders in one; none where another run, which begins at the same time, has removed it. */
function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

function unmount(path: string): void {
  // Lazily: what a test left open there ends with its process.
  spawnSync('umount', ['--lazy', path]);
  rmSync(path, { recursive: true, force: true });
}

/** When a process began, in the kernel's ticks; empty where it does not run. */
function begunAt(pid: number): string {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function folderOf(pid: string): string {
  try {
    return `${readlinkSync(`/proc/${pid}/cwd`)}/`;
  } catch {
    return '';
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
