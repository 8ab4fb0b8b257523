import { readlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { run } from '../drivers/run.ts';
import { shimFilter } from '../drivers/seccomp.ts';

const probeMs = 10_000;

/** The confinement of a shim. */
export interface Cage {
  /** Words before its command. */
  words: string[];
  /** File of its system call filter, open as descriptor 3 when it starts. */
  filter: string;
  /** The missing part of the confinement, for the log. */
  missing: string | undefined;
}

/** Of the system, all that Node.js reads: no other file of this machine is there for a shim, and most belong to root. */
const libraries = ['/usr/lib', '/usr/lib64', '/lib', '/lib64', '/etc/ld.so.cache'];
const names = ['hosts', 'nsswitch.conf', 'host.conf', 'gai.conf', 'services', 'protocols'].map(
  (name) => `/etc/${name}`,
);

/**
 * The cage of the shims of a node: no capability and no way to one, no other process, no file but what Node.js reads and the
 * directory `live`, a system call filter without fork. As root with bubblewrap, and without root in a user namespace; where
 * bubblewrap does not run, the capabilities are dropped all the same. README.md has what a shim needs.
 */
export async function openCage(dir: string, { shim, live }: { shim: string; live: string }): Promise<Cage> {
  const filter = join(dir, 'shim.bpf');
  const program = shimFilter(process.arch);
  await writeFile(filter, program ?? '');
  if (program) {
    const words = await whole({ shim, live });
    const probe = [...words, process.execPath, '--version'];
    const { code, output } = await run(['/bin/sh', '-c', '"$@" 3<"$0"', filter, ...probe], probeMs);
    if (code === 0) return { words, filter, missing: undefined };
    return { words: await bare(), filter, missing: output.trim().slice(-300) };
  }
  return { words: await bare(), filter, missing: `no system call filter for ${process.arch}` };
}

async function whole({ shim, live }: { shim: string; live: string }): Promise<string[]> {
  const seen = [...libraries, ...names, process.execPath, dirname(shim)];
  return [
    ['bwrap', '--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--cap-drop', 'ALL'],
    ...seen.map((path) => ['--ro-bind-try', path, path]),
    await nameServers(),
    ['--dev', '/dev', '--bind', live, live, '--chdir', '/', '--seccomp', '3', '--'],
  ].flat();
}

/** The file is often a link to one that is replaced when the network changes: then its directory is there. */
async function nameServers(): Promise<string[]> {
  const file = '/etc/resolv.conf';
  const target = await readlink(file).catch(() => undefined);
  if (target === undefined) return ['--ro-bind-try', file, file];
  const place = dirname(resolve('/etc', target));
  return ['--ro-bind-try', place, place, '--symlink', target, file];
}

/** Without bubblewrap; as root the bounding set keeps every capability away. */
async function bare(): Promise<string[]> {
  const dropped = process.getuid?.() === 0 ? ['--bounding-set=-all', '--inh-caps=-all'] : [];
  const words = ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', ...dropped, '--'];
  return (await run([...words, 'true'], probeMs)).code === 0 ? words : [];
}
