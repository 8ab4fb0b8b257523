import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openControlGroups } from './cgroups/cgroups.ts';
import { lockNode } from './node-lock.ts';
import { inTime } from './sandboxes/instances.ts';
import { createSystemPackages } from './system-packages.ts';
import { connectShim } from './wire/client.ts';
import { openWorkspaces } from './workspaces/workspaces.ts';

const stopMs = 5_000;

/** Ends every sandbox of a node whose sandboxd is not running, and removes all that it keeps: files, mounts, groups. */
export async function clearNode(dir: string): Promise<void> {
  const lock = await lockNode(dir);
  const live = await readdir(join(dir, 'live')).catch(() => []);
  await Promise.all(live.map((name) => stop(join(dir, 'live', name, 'shim.sock'))));
  const groups = await openControlGroups({ stateDir: dir });
  await groups.removeAll();
  const workspaces = await openWorkspaces({ dir: join(dir, 'workspaces'), packages: createSystemPackages(false) });
  await workspaces.unmount();
  await rm(dir, { recursive: true, force: true });
  await lock.release();
}

/** Ends a sandbox through its shim, if there is one: without control groups nothing else would. */
async function stop(socket: string): Promise<void> {
  const client = await connectShim(socket).catch(() => undefined);
  if (!client) return;
  await inTime(client.tell({ stop: true }), stopMs).catch(() => {});
  await inTime(client.closed, stopMs).catch(() => client.close());
}
