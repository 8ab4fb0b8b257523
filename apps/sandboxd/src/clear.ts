import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openControlGroups } from './cgroups/cgroups.ts';
import { lockNode } from './node-lock.ts';
import { createSystemPackages } from './system-packages.ts';
import { openWorkspaces } from './workspaces/workspaces.ts';

/** Ends every sandbox of a node whose sandboxd is not running, and removes all that it keeps: files, mounts, groups. */
export async function clearNode(dir: string): Promise<void> {
  const lock = await lockNode(dir);
  const groups = await openControlGroups({ stateDir: dir });
  await groups.removeAll();
  const workspaces = await openWorkspaces({ dir: join(dir, 'workspaces'), packages: createSystemPackages(false) });
  await workspaces.unmount();
  await rm(dir, { recursive: true, force: true });
  await lock.release();
}
