import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { openControlGroups } from './cgroups/cgroups.ts';
import { createFiles } from './files/files.ts';
import { createTarBuilder } from './images/build.ts';
import { createImages } from './images/images.ts';
import { createProgressLog } from './images/progress.ts';
import { createRuntime } from './images/runtime.ts';
import type { NodeParts } from './sandboxes/index.ts';
import { createScanner } from './scan/scanner.ts';
import { createSystemPackages } from './system-packages.ts';
import { openWorkspaces, type WorkspaceStore } from './workspaces/workspaces.ts';

/** The parts of a node of this machine. */
interface MachineParts extends NodeParts {
  workspaces: WorkspaceStore;
}

/** Opens the parts of a node: what is missing of the system is installed where that is allowed. */
export async function openParts(options: {
  dir: string;
  images: string;
  systemPackages: boolean;
  /** Bytes of one workspace. */
  workspaceBytes?: number;
  log(message: string, details?: object): void;
}): Promise<MachineParts> {
  const { dir } = options;
  const log = (message: string, details?: object): void => options.log(message, details);
  const packages = createSystemPackages(options.systemPackages, log);
  if (process.platform === 'linux') {
    const missing = await packages.ensure({ bwrap: 'bubblewrap' });
    if (missing !== undefined) log('no v1 sandboxes', { reason: missing });
  }
  const size = options.workspaceBytes === undefined ? {} : { mostBytes: options.workspaceBytes };
  const workspaces = await openWorkspaces({ dir: join(dir, 'workspaces'), packages, log, ...size });
  // Search only: the user of a v1 sandbox must come as far as its own directory.
  await chmod(join(dir, 'workspaces'), 0o711);
  if (workspaces.reason !== undefined)
    log('workspaces are not limited by the file system', { reason: workspaces.reason });
  const groups = await openControlGroups({ stateDir: dir });
  if (!groups.available) log('sandboxes run without limits of memory, processes and CPU', { reason: groups.reason });
  return {
    images: createImages({
      dir: options.images,
      builder: createTarBuilder({ packages }),
      onProgress: createProgressLog(log),
    }),
    workspaces,
    groups,
    // A little more than a workspace has, as its file system lets it have.
    files: createFiles(workspaces.most.bytes * 1.125),
    scanner: createScanner({ packages, log }),
    runtime: createRuntime({ dir: join(options.images, 'runtime') }),
    log,
  };
}
