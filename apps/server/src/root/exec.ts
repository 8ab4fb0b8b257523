import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Handed, handedVariable } from '../config.handed.ts';
import { processEnvironment } from '../config.ts';
import { programPath } from '../../../../packages/programs/src/index.ts';
import { openMounts, quoted } from './mounts.ts';

interface User {
  uid: number;
  gid: number;
}

/** The program that a user goes on with. */
const source = join(import.meta.dirname, '../main.ts');
export const main = programPath(source);
const clone = join(import.meta.dirname, '../../../..');
/** Ports below 1024 may be listened on; nothing else of root is left, and nothing gets more. */
const capabilities = ['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all,+net_bind_service`);
const cacheDir = '/var/cache/svc';

/** Opens what is handed over as a descriptor, which everything up to the platform inherits; no name of it is left. */
const handedDescriptor = 9;
const takeOver = `exec ${handedDescriptor}<"$0"; rm -f "$0"; exec "$@"`;

/** How a command becomes the user's. */
interface Way {
  /** The words before it: without a way back, and in mounts in which it reaches clone and data dir. */
  chain: readonly string[];
  /** The program's file that the user can read: of the bundle that this process runs from, else the source. */
  main: string;
}

/** Throws where the machine cannot do it. */
export function wayFor(user: User, dataDir: string): Way {
  const become = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups', ...capabilities];
  const chain = [...openMounts([clone, dataDir]), ...become, '--no-new-privs'];
  return { chain, main: tryOut(chain, dataDir) };
}

/** Goes on as that user, with this number, these words and this environment. Does not return. */
export function goOnAs(
  user: User,
  { way, dataDir, handed, words }: { way: Way; dataDir: string; handed: Handed; words: readonly string[] },
): never {
  const env = {
    ...processEnvironment(),
    SVC_DATA_DIR: dataDir,
    [handedVariable]: String(handedDescriptor),
    HOME: dataDir,
    ...compileCache(user),
  };
  flushCompileCache();
  if (!process.execve) throw new Error('this Node.js cannot');
  const command = [...way.chain, process.execPath, ...process.execArgv, way.main, ...words];
  return process.execve('/bin/sh', ['sh', '-c', takeOver, writeForRoot(JSON.stringify(handed)), ...command], env);
}

/** Writes for root alone, in memory where the machine has it; answers where. */
function writeForRoot(text: string): string {
  const path = join(existsSync('/run') ? '/run' : tmpdir(), `svc-${randomUUID()}`);
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}

/** A clone, a checkout or an install under a umask of 077 leaves files that only root reads. */
export class UnreadableClone extends Error {
  constructor(path: string) {
    // Not the whole folder: the data dir, with its keys, is below it by default.
    const open = `chmod go+rX . && chmod -R go+rX ${own} node_modules`;
    super(`that user cannot read ${join(clone, path)}; as root: cd ${quoted(clone)} && ${open}`);
  }
}

/** Where a bundle cannot be read its sources can: they run. */
const unreadBundle = 3;
/** What the platform runs of the clone, beside its packages. */
const own = 'package.json apps packages';

/** Prints the first of them that cannot be read; notes of a person beside the code are not looked at. */
const look = `cd "$2" 2>/dev/null || { echo .; exit 1; }
of="! -type l ! -name .* ! -readable -print -quit"
set -f
find ${own} -name node_modules -prune -o \\( -type d -o -name *.ts -o -name *.json -o -name *.sql \\) $of 2>/dev/null
find node_modules -maxdepth 1 $of 2>/dev/null
test -r "$0" && test -w "$1" || exit 1
test "$3" = "$0" || test -z "$(find "\${3%/*}" ! -readable -print -quit 2>&1)" || exit ${unreadBundle}`;

/**
 * Answers what of the program the user can read. Throws where the chain cannot be run, or leads to a user who cannot
 * use what it needs.
 */
function tryOut(chain: readonly string[], dataDir: string): string {
  const [program, ...args] = [...chain, 'sh', '-c', look, source, dataDir, clone, main];
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  const [unread = ''] = (stdout ?? '').split('\n');
  if (unread !== '') throw new UnreadableClone(unread);
  if (status === 0) return main;
  if (status === unreadBundle) return source;
  throw new Error(error?.message ?? (stderr.trim() || `that user cannot read ${clone} or write ${dataDir}`));
}

/** Compiled code of one user is never run by another: root's is beside the packages. */
function compileCache(user: User): Record<string, string> {
  const dir = join(cacheDir, 'compiled');
  try {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    chownSync(dir, user.uid, user.gid);
    return { NODE_COMPILE_CACHE: dir };
  } catch {
    return {};
  }
}
