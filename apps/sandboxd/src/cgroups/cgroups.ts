import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { NodeError } from '../error.ts';
import type { ControlGroup, ControlGroups, Limits } from '../parts.ts';
import { type Controller, type Hierarchy, openHierarchies } from './hierarchies.ts';

interface ControlGroupsOptions {
  /** Tells the groups of several installations on a machine apart. */
  stateDir: string;
  /** Content of `/proc/self/mountinfo`. */
  mountinfo?: string;
}

/** The control groups of an installation, and whether there are any. */
interface OpenControlGroups extends ControlGroups {
  /** False where this process may make none (no root, no hierarchies): nothing is limited then. */
  available: boolean;
  /** Why there are none. */
  reason?: string;
  /** Removes every group, and the directory above them. */
  removeAll(): Promise<void>;
}

/** A killed process can stay in the Linux kernel for a while (a disk that does not answer), not for ever. */
const killMs = 10_000;
const periodUs = 100_000;

/** Finds the hierarchies of this machine. */
export async function openControlGroups(options: ControlGroupsOptions): Promise<OpenControlGroups> {
  const name = `svc-${createHash('sha256').update(options.stateDir).digest('hex').slice(0, 12)}`;
  const mountinfo = options.mountinfo ?? (await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''));
  const { hierarchies, reason } = await openHierarchies(name, mountinfo);
  const list = async () => {
    const names = await Promise.all(hierarchies.map(({ parent }) => childrenOf(parent)));
    return [...new Set(names.flat())];
  };
  return {
    available: hierarchies.length > 0,
    ...(reason !== undefined && { reason }),
    list,
    async open(id, limits) {
      if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(id)) throw new NodeError('bad_request', 'not the id of a group');
      for (const hierarchy of hierarchies) await setLimits(hierarchy, join(hierarchy.parent, id), limits);
      return group(hierarchies, id, limits);
    },
    async removeAll() {
      for (const id of await list()) await group(hierarchies, id).remove();
      for (const { parent } of hierarchies) await removeDirectory(parent);
    },
  };
}

async function setLimits({ version, limits }: Hierarchy, path: string, wanted: Limits): Promise<void> {
  await mkdir(path, { recursive: true });
  const set = (file: string, value: number | string) => writeFile(join(path, file), String(value));
  // Without swap in the Linux kernel its files are missing, and nothing can be swapped.
  const try_ = (file: string, value: number | string) => set(file, value).catch(() => {});
  const quota = Math.max(1000, Math.round(wanted.cpus * periodUs));
  if (limits.includes('pids')) await set('pids.max', wanted.pids);
  if (version === 2) {
    if (limits.includes('memory')) {
      await set('memory.max', wanted.memoryBytes);
      await try_('memory.swap.max', 0);
    }
    if (limits.includes('cpu')) await set('cpu.max', `${quota} ${periodUs}`);
    return;
  }
  if (limits.includes('memory')) {
    // The sum with swap may never be below memory's own limit: growing needs the one order, shrinking the other.
    await try_('memory.limit_in_bytes', wanted.memoryBytes);
    await try_('memory.memsw.limit_in_bytes', wanted.memoryBytes);
    await set('memory.limit_in_bytes', wanted.memoryBytes);
    await try_('memory.swappiness', 0);
  }
  if (limits.includes('cpu')) {
    await try_('cpu.cfs_period_us', periodUs);
    // A Linux kernel without CPU bandwidth has the shares alone.
    await try_('cpu.cfs_quota_us', quota);
    await set('cpu.shares', Math.max(2, Math.round(wanted.cpus * 1024)));
  }
}

function group(hierarchies: Hierarchy[], id: string, limits?: Limits): ControlGroup {
  const paths = hierarchies.map((hierarchy) => ({ ...hierarchy, path: join(hierarchy.parent, id) }));
  const holding = (controller: Controller) => paths.find(({ limits }) => limits.includes(controller));
  const processes = async () => [...new Set((await Promise.all(paths.map(({ path }) => processesOf(path)))).flat())];
  const read = async (names: readonly [v1: string, v2: string]) => {
    const memory = holding('memory');
    if (!memory) return '';
    return readFile(join(memory.path, names[memory.version - 1] ?? ''), 'utf8').catch(() => '');
  };
  const kill = () => killAll(paths, processes, limits);
  return {
    // A process that could not be moved must not go on without limits.
    enter: paths.map(({ path }) => `echo $$ > '${path}/cgroup.procs' || exit 125`).join('\n'),
    processes,
    memoryBytes: async () => Number((await read(['memory.usage_in_bytes', 'memory.current'])).trim()),
    async oomKills() {
      const text = await read(['memory.oom_control', 'memory.events']);
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
    },
    async freeze(still) {
      for (const { version, path } of paths) {
        // Kernels before 5.2 have none.
        if (version === 2) await writeFile(join(path, 'cgroup.freeze'), still ? '1' : '0').catch(() => {});
      }
    },
    kill,
    async remove() {
      await kill();
      for (const { path } of paths) await removeDirectory(path);
    },
  };
}

type Place = Hierarchy & { path: string };

/** With no process allowed any more nothing can fork faster than it is killed; so a fork bomb ends in one round. */
async function killAll(paths: Place[], processes: () => Promise<number[]>, limits: Limits | undefined): Promise<void> {
  const pids = paths.find(({ limits }) => limits.includes('pids'));
  const setPids = (most: number) =>
    pids ? writeFile(join(pids.path, 'pids.max'), String(most)).catch(() => {}) : Promise.resolve();
  let left = await processes();
  if (left.length === 0) return;
  await setPids(0);
  for (let waited = 0; left.length > 0 && waited < killMs; waited += 5) {
    for (const { version, path } of paths) {
      if (version === 2) await writeFile(join(path, 'cgroup.kill'), '1').catch(() => {});
    }
    for (const pid of left) sendKill(pid);
    await sleep(5);
    left = await processes();
  }
  if (limits) await setPids(limits.pids);
  if (left.length > 0) throw new Error(`${left.length} processes did not end, ${left[0]} among them`);
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

/** Of a group and of groups made inside it. */
async function processesOf(path: string): Promise<number[]> {
  const own = (await readFile(join(path, 'cgroup.procs'), 'utf8').catch(() => '')).split('\n').map(Number);
  const inner = await Promise.all((await childrenOf(path)).map((name) => processesOf(join(path, name))));
  // 0 is a process of a PID namespace that we do not see; itself we never are.
  return [...own, ...inner.flat()].filter((pid) => pid > 0 && pid !== process.pid);
}

async function childrenOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

/** Linux says busy for some milliseconds after the last process is gone. */
async function removeDirectory(path: string): Promise<void> {
  for (const name of await childrenOf(path)) await removeDirectory(join(path, name));
  for (let tries = 0; await stat(path).catch(() => undefined); tries += 1) {
    try {
      await rmdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      if (tries >= 200) throw error;
      await sleep(10);
    }
  }
}
