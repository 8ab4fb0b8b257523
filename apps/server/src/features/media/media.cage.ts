import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { delimiter } from 'node:path';

/** How the programs are kept from the machine: by bubblewrap, or by their arguments alone. */
export type CageKind = 'bwrap' | 'none';

/** Words before a program that set limits; each is tried, the first that works is used. */
export interface Chain {
  kind: CageKind;
  words: readonly string[];
}

/** Programs on the machine, by their name in the cage too. */
const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/opt/homebrew/bin'];
/** What they get of an environment: no setting, no secret. */
export const bareEnvironment = { PATH: folders.join(delimiter), LANG: 'C.UTF-8' };

/** The path of a program; undefined when it is not installed. */
export const programPath = (name: string): string | undefined =>
  folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));

/** Places of the file and of the folder for results in the cage. */
export const inCage = { input: '/input', folder: '/output' };

/** Bytes of memory, and of one file that is written. A file that makes a decoder ask for more costs that decoder alone. */
const limits = { as: 2 * 1024 ** 3, fsize: 64 * 1024 ** 2, nofile: 64, core: 0 };
/**
 * The platform may hold the right to listen on low ports, and bubblewrap refuses to start with any. With this process dies the
 * program, however this process ends.
 */
const withoutRights = ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--pdeathsig', 'KILL', '--'];
const nice = ['nice', '-n', '10'];
const limited = ['prlimit', ...Object.entries(limits).map(([name, value]) => `--${name}=${value}`), '--'];

/**
 * From the strictest down; macOS has only the last two. Limits are refused where the platform itself has lower ones,
 * and then those count: that costs no cage.
 */
export const chains: readonly Chain[] = [
  { kind: 'bwrap', words: [...nice, ...limited, ...withoutRights] },
  { kind: 'bwrap', words: [...nice, ...withoutRights] },
  { kind: 'none', words: [...nice, ...limited, ...withoutRights] },
  { kind: 'none', words: nice },
];

/** What a caged program sees of the machine beside its own: an input, a folder, or neither. */
export interface Bound {
  input?: string;
  folder?: string;
}

/**
 * The words that run a command in bubblewrap: no network, no other process, no right; the machine's programs for reading, the
 * one file for reading, the one folder for writing.
 */
export const cageWords = ({ input, folder }: Bound): string[] => [
  ...'bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --new-session'.split(' '),
  '--cap-drop',
  'ALL',
  '--clearenv',
  '--setenv',
  'PATH',
  bareEnvironment.PATH,
  '--setenv',
  'LANG',
  'C.UTF-8',
  ...'--ro-bind /usr /usr --dev /dev'.split(' '),
  ...['/bin', '/lib', '/lib64'].flatMap(systemFolder),
  // Libraries that one of several packages provides are links into it.
  ...['/etc/alternatives', '/etc/ld.so.cache'].flatMap((path) => ['--ro-bind-try', path, path]),
  ...(input === undefined ? [] : ['--ro-bind', input, inCage.input]),
  ...(folder === undefined ? [] : ['--bind', folder, inCage.folder]),
  ...'--remount-ro / --chdir / --'.split(' '),
];

/** Links into `/usr` on a machine of today, folders on an older one. */
function systemFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) return ['--symlink', readlinkSync(path), path];
  return ['--ro-bind-try', path, path];
}
