import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { programPath } from '../../../packages/programs/src/index.ts';
import type { Config } from './config.ts';
import { makeRootFolder, openNodeFolder } from './root/adopt.ts';
import { platformUser } from './root/user.ts';

/** The node agent's program. */
export const sandboxdProgram = programPath(resolve(import.meta.dirname, '../../sandboxd/src/main.ts'));
/** Where the images of the node agent with this folder are. */
export const imagesDirOf = (config: Config, dir: string): string => config.sandboxes.imagesDir ?? join(dir, 'images');
/** Its heap is small: the machine's memory is for sandboxes. */
export const nodeFlags = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning'];

/** Where the node agent beside a gateway keeps its state, and where it listens. */
export function sandboxdPlaces(config: Config, dataDir: string): { dir: string; socket: string } {
  const dir = join(dataDir, 'sandboxd');
  return { dir, socket: config.sandboxdSocket ?? join(dir, 'sandboxd.sock') };
}

/** Makes the node agent's folder, and answers the arguments that Node.js runs it with. */
export function prepareSandboxd(
  config: Config,
  dataDir: string,
  { systemPackages }: { systemPackages: boolean },
): string[] {
  const places = sandboxdPlaces(config, dataDir);
  const user = platformUser();
  if (user) {
    mkdirSync(dirname(places.dir), { recursive: true, mode: 0o700 });
    makeRootFolder(places.dir);
    openNodeFolder(places.dir, user);
  } else mkdirSync(places.dir, { recursive: true, mode: 0o700 });
  const { sandboxes, fetchAllowHosts, fetchPorts, logLevel } = config;
  const flags: Record<string, string | number | undefined> = {
    ...places,
    // A gateway that was started as root is in it.
    group: user?.gid,
    images: imagesDirOf(config, places.dir),
    slots: sandboxes.slots,
    warm: sandboxes.warm,
    memory: sandboxes.memoryMb,
    cpus: sandboxes.cpus,
    workspace: sandboxes.workspaceMb,
    ports: fetchPorts.join(','),
    'allow-hosts': fetchAllowHosts.join(',') || undefined,
    'pypi-hosts': sandboxes.pypiHosts.join(','),
    'npm-hosts': sandboxes.npmHosts?.join(','),
    'log-level': logLevel,
  };
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, `${value}`],
  );
  return [
    ...nodeFlags,
    sandboxdProgram,
    'run',
    '--tied',
    ...given,
    ...(systemPackages ? [] : ['--no-system-packages']),
  ];
}
