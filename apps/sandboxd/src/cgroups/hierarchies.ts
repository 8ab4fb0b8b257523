import { constants } from 'node:fs';
import { access, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Controller = 'memory' | 'pids' | 'cpu';
const controllers: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** One tree of control groups that this process may make groups in. */
export interface Hierarchy {
  version: 1 | 2;
  /** Directory of our own groups in it. */
  parent: string;
  /** Controllers of its groups; none in a version 2 tree whose controllers are all in version 1 trees. */
  limits: Controller[];
}

/** Result of `openHierarchies`. */
interface Hierarchies {
  hierarchies: Hierarchy[];
  /** Why there are none. */
  reason?: string;
}

/**
 * The hierarchies of this machine, with our directory `name` made in each. `[]` where memory cannot be limited: a part
 * of the limits would only look like isolation.
 */
export async function openHierarchies(name: string, mountinfo: string): Promise<Hierarchies> {
  const found: Hierarchy[] = [];
  const failures: string[] = [];
  const taken = new Set<Controller>();
  // Version 1 first: a controller that is in one of its trees is not in version 2's.
  for (const { version, at, options } of mounts(mountinfo).sort((a, b) => a.version - b.version)) {
    const offered = version === 1 ? options : await offeredBy(at);
    const limits = controllers.filter((controller) => offered.includes(controller) && !taken.has(controller));
    if (version === 1 && limits.length === 0) continue;
    const parent = join(at, name);
    try {
      await prepare(version, at, parent, limits);
    } catch (error) {
      failures.push(reasonOf(error));
      continue;
    }
    for (const controller of limits) taken.add(controller);
    found.push({ version, parent, limits });
  }
  if (taken.has('memory')) return { hierarchies: found };
  return { hierarchies: [], reason: [...new Set(failures)].join('; ') || 'no control group here can limit memory' };
}

/** An ordinary user may make none in any tree: said once. */
function reasonOf(error: unknown): string {
  const isRefused = (error as NodeJS.ErrnoException).code === 'EACCES';
  if (isRefused && process.getuid?.() !== 0) return 'this user may not make control groups';
  return error instanceof Error ? error.message : String(error);
}

interface Mount {
  version: 1 | 2;
  at: string;
  options: string[];
}

function mounts(mountinfo: string): Mount[] {
  return mountinfo.split('\n').flatMap((line): Mount[] => {
    const [left = '', right = ''] = line.split(' - ');
    const [type, , options = ''] = right.split(' ');
    const at = left.split(' ')[4] ?? '';
    if (type === 'cgroup') return [{ version: 1, at, options: options.split(',') }];
    return type === 'cgroup2' ? [{ version: 2, at, options: [] }] : [];
  });
}

async function offeredBy(at: string): Promise<string[]> {
  return (await readFile(join(at, 'cgroup.controllers'), 'utf8').catch(() => '')).trim().split(/\s+/);
}

async function prepare(version: 1 | 2, at: string, parent: string, limits: Controller[]): Promise<void> {
  const enable = limits.map((controller) => `+${controller}`).join(' ');
  if (version === 2 && enable) await offer(at, enable);
  await mkdir(parent, { recursive: true });
  if (version === 2 && enable) await writeFile(join(parent, 'cgroup.subtree_control'), enable);
  await access(join(parent, 'cgroup.procs'), constants.W_OK);
}

/** Lets groups below `at` be limited. A group with processes of its own refuses that: in a container, ours is one. */
async function offer(at: string, enable: string): Promise<void> {
  const control = join(at, 'cgroup.subtree_control');
  try {
    await writeFile(control, enable);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY' || !(await isContainerRoot(at))) throw error;
    await moveDown(at);
    await writeFile(control, enable);
  }
}

/** Whether `at` is the root of this process's own namespace, and not the machine's, which alone has no type. */
async function isContainerRoot(at: string): Promise<boolean> {
  const own = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  return /^0::\/$/m.test(own) && (await stat(join(at, 'cgroup.type')).catch(() => undefined)) !== undefined;
}

/** Moves every process of a container into a group of their own, as container engines inside containers do. */
export async function moveDown(at: string): Promise<void> {
  const leaf = join(at, 'svc-container');
  await mkdir(leaf, { recursive: true });
  for (const pid of (await readFile(join(at, 'cgroup.procs'), 'utf8')).split('\n')) {
    // One that ended meanwhile needs no place; what stays makes the next step fail again.
    if (pid !== '') await writeFile(join(leaf, 'cgroup.procs'), pid).catch(() => {});
  }
}
