// `./svc …` as root on Linux. Gateway and worker go on as the user `svc`, in the same process; what needs root stays behind in
// `helper.ts`. Everything else runs as root does.
import { spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Handed, handedVariable, rememberFiles } from '../config.handed.ts';
import { readConfig } from '../config.read.ts';
import { type Config, type Given, processEnvironment, settingRows, systemEnvironment } from '../config.ts';
import { namedKeyFiles, providersPath } from '../kernel/outside/providers.ts';
import { packageRoot } from '../postgres/datadir.ts';
import { prepareCluster } from '../postgres/embedded.ts';
import { prepareSandboxd } from '../sandboxd.ts';
import { adoptCluster, adoptDataDir, noteImagesDir } from './adopt.ts';
import type { Duties } from './helper.ts';
import { openMounts } from './mounts.ts';
import { isAdopted, isOfRoot, type PlatformUser, platformUser } from './user.ts';

const words = process.argv.slice(2);
const main = join(import.meta.dirname, '../main.ts');
/** Ports below 1024 may be listened on; nothing else of root is left, and nothing gets more. */
const capabilities = ['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all,+net_bind_service`);
/** `sun_path` holds 107 bytes. */
const longestSocket = 107;
const smallHeap = ['--max-semi-space-size=1', '--max-old-space-size=64', '--disable-warning=ExperimentalWarning'];
const cacheDir = '/var/cache/svc';

/** Opens what is handed over as a descriptor, which everything up to the platform inherits; no name of it is left. */
const handedDescriptor = 9;
const takeOver = `exec ${handedDescriptor}<"$0"; rm -f "$0"; exec "$@"`;

if (startsPlatform(words)) {
  const read = readIfWhole(words);
  if (read) await leaveRoot(read);
}
// Not reached by a process that became another user.
await import('../main.ts');

function startsPlatform(given: readonly string[]): boolean {
  const takesValue = new Set([...settingRows().flatMap(({ flags }) => flags.map(({ flag }) => flag)), '--only']);
  const command = given.find((word, at) => !word.startsWith('-') && !takesValue.has(given[at - 1] ?? ''));
  return command === 'up' && !/(?:^| )--only[ =]sandboxd(?: |$)/.test(given.join(' '));
}

/** The settings; undefined when they cannot be used: the command says why. */
function readIfWhole(given: readonly string[]): ReturnType<typeof readConfig> | undefined {
  try {
    return readConfig(flagsOf(given));
  } catch {
    return undefined;
  }
}

function flagsOf(given: readonly string[]): Given {
  const flags = settingRows().flatMap((row) => row.flags);
  return Object.fromEntries(
    flags.flatMap(({ flag, gives }) => {
      const at = given.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
      if (at < 0) return [];
      const word = given[at] as string;
      return [[gives, word === flag ? given[at + 1] : word.slice(flag.length + 1)]];
    }),
  );
}

/**
 * A machine that cannot do it runs the platform as before. A data dir that was a user's once is never served by root again: that
 * user has written there, and could have made this fail.
 */
async function leaveRoot(read: ReturnType<typeof readConfig>): Promise<void> {
  const found = statSync(read.dataDir, { throwIfNoEntry: false });
  try {
    await becomeUser(read);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isFinal = found && isAdopted(found);
    const outcome = isFinal ? 'the platform does not start' : 'gateway and worker stay root';
    process.stderr.write(`svc: ${outcome}, they cannot become the user svc: ${reason}\n`);
    if (isFinal) process.exit(1);
  }
}

/** Does not return when it works: the process goes on as `svc`, with this number, these words and this environment. */
async function becomeUser({ config, dataDir }: ReturnType<typeof readConfig>): Promise<void> {
  const user = platformUser();
  if (!user) return;
  const sandboxd = await prepare(config, dataDir, user);
  const become = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups', ...capabilities];
  const chain = [...openMounts([packageRoot, dataDir]), ...become, '--no-new-privs'];
  tryOut(chain, dataDir);
  const name = `helper.${process.pid}.sock`;
  const inside = join(dataDir, name);
  const socket = Buffer.byteLength(inside) <= longestSocket ? inside : join('/run', `svc-${name}`);
  const duties: Duties = { platform: process.pid, dataDir, socket, gid: user.gid, logLevel: config.logLevel, sandboxd };
  const args = [...smallHeap, join(import.meta.dirname, 'helper.ts'), JSON.stringify(duties)];
  // In a session of its own: a Ctrl-C in the terminal is for the platform, which ends it in order.
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit'];
  spawn(process.execPath, args, { detached: true, stdio, env: systemEnvironment() }).unref();
  const handed: Handed = { helper: socket, files: rememberFiles(filesOf(config, dataDir)) };
  const env = {
    ...processEnvironment(),
    SVC_DATA_DIR: dataDir,
    [handedVariable]: String(handedDescriptor),
    HOME: dataDir,
    ...compileCache(user),
  };
  flushCompileCache();
  if (!process.execve) throw new Error('this Node.js cannot');
  process.execve(
    '/bin/sh',
    [
      'sh',
      '-c',
      takeOver,
      writeForRoot(JSON.stringify(handed)),
      ...chain,
      process.execPath,
      ...process.execArgv,
      main,
      ...words,
    ],
    env,
  );
}

/** Writes for root alone, in memory where the machine has it; answers where. */
function writeForRoot(text: string): string {
  const path = join(existsSync('/run') ? '/run' : tmpdir(), `svc-${randomUUID()}`);
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}

/** Makes what only root can make; answers the arguments of the node agent, if it is this platform's. */
async function prepare(config: Config, dataDir: string, user: PlatformUser): Promise<string[] | undefined> {
  adoptDataDir(dataDir, user);
  if (config.databaseUrl === undefined) {
    const cluster = await prepareCluster(dataDir);
    if (dirname(cluster) !== dataDir) adoptCluster(cluster, user);
  }
  const runsNode = !words.some((word) => word.startsWith('--only')) && config.sandboxdSocket === undefined;
  if (!runsNode) {
    if (config.sandboxes.imagesDir !== undefined) noteImagesDir(dataDir, config.sandboxes.imagesDir);
    return undefined;
  }
  noteImagesDir(dataDir, config.sandboxes.imagesDir);
  const systemPackages = !words.includes('--no-system-packages');
  return prepareSandboxd(config, dataDir, { systemPackages });
}

/** Throws where the chain cannot be run, or leads to a user who cannot use what it needs. */
function tryOut(chain: readonly string[], dataDir: string): void {
  const [program, ...args] = [...chain, 'sh', '-c', 'test -r "$0" && test -w "$1"', main, dataDir];
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(error?.message ?? (stderr.trim() || `that user cannot read ${packageRoot} or write ${dataDir}`));
}

/**
 * Files that only root may be able to read, and that the operator named: certificates, and keys in a providers file that is
 * root's. Secrets of settings were read with these.
 */
function filesOf(config: Config, dataDir: string): string[] {
  const providers = providersPath({ config, dataDir });
  return [
    ...(config.tls ? [config.tls.certFile, config.tls.keyFile] : []),
    ...(isOfRoot(providers) ? [providers, ...namedKeyFiles(providers)] : []),
  ];
}

/** Compiled code of one user is never run by another: root's is beside the packages. */
function compileCache(user: PlatformUser): Record<string, string> {
  const dir = join(cacheDir, 'compiled');
  try {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    chownSync(dir, user.uid, user.gid);
    return { NODE_COMPILE_CACHE: dir };
  } catch {
    return {};
  }
}
