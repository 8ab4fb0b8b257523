import { constants } from 'node:fs';
import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Controller = 'memory' | 'pids' | 'cpu';
const controllers: readonly Controller[] = ['memory', 'pids', 'cpu'];

/** One tree of control groups that this process may make groups in. */
export interface Hierarchy {
  version: 1 | 2;
  /** Directory of our own groups in it. */
  parent: string;
  /** What its groups limit here; none in a version 2 tree whose controllers are all in version 1 trees. */
  limits: Controller[];
}

/**
 * The hierarchies of this machine, with our directory `name` made in each. `[]` where memory cannot be limited: a part
 * of the limits would only look like isolation.
 */
export async function openHierarchies(name: string, mountinfo: string): Promise<Hierarchy[]> {
  const found: Hierarchy[] = [];
  const taken = new Set<Controller>();
  // Version 1 first: a controller that is in one of its trees is not in version 2's.
  for (const { version, at, options } of mounts(mountinfo).sort((a, b) => a.version - b.version)) {
    const offered = version === 1 ? options : await offeredBy(at);
    const limits = controllers.filter((controller) => offered.includes(controller) && !taken.has(controller));
    if (version === 1 && limits.length === 0) continue;
    const parent = join(at, name);
    if (!(await prepare(version, at, parent, limits))) continue;
    for (const controller of limits) taken.add(controller);
    found.push({ version, parent, limits });
  }
  return taken.has('memory') ? found : [];
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

async function prepare(version: 1 | 2, at: string, parent: string, limits: Controller[]): Promise<boolean> {
  try {
    const enable = limits.map((controller) => `+${controller}`).join(' ');
    if (version === 2 && enable) await writeFile(join(at, 'cgroup.subtree_control'), enable);
    await mkdir(parent, { recursive: true });
    if (version === 2 && enable) await writeFile(join(parent, 'cgroup.subtree_control'), enable);
    await access(join(parent, 'cgroup.procs'), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
