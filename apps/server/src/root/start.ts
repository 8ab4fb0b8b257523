// `./svc …` as root on Linux. Gateway and worker go on as the user `svc`, in the same process; what needs root stays behind in
// `helper.ts`. Everything else runs as root does.
import { spawn, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { settleRestore, unsettledRestore } from '../backup/staging.ts';
import { isAdopted, isOfRoot } from '../config.foreign.ts';
import { type Handed, rememberFiles } from '../config.handed.ts';
import { readConfig } from '../config.read.ts';
import { type Config, type Given, settingRows, systemEnvironment } from '../config.ts';
import { programPath } from '../../../../packages/programs/src/index.ts';
import { printable } from '../kernel/base/text.ts';
import { namedKeyFiles, providersPath } from '../kernel/outside/providers.ts';
import { prepareCluster } from '../postgres/embedded.ts';
import { prepareSandboxd } from '../sandboxd.ts';
import { adoptCluster, adoptDataDir, leaveToRoot, noteImagesDir } from './adopt.ts';
import { goOnAs, UnreadableClone, wayFor } from './exec.ts';
import type { Duties } from './helper.ts';
import { type PlatformUser, platformUser } from './user.ts';

const words = process.argv.slice(2);
/** `sun_path` holds 107 bytes. */
const longestSocket = 107;
const smallHeap = ['--max-semi-space-size=1', '--max-old-space-size=64', '--disable-warning=ExperimentalWarning'];

if (startsPlatform(words)) {
  const read = readIfWhole(words);
  if (read) await leaveRoot(read);
}
// Not reached by a process that became another user.
await import('../main.ts');

function startsPlatform(given: readonly string[]): boolean {
  const takesValue = new Set([...settingRows().flatMap(({ flags }) => flags.map(({ flag }) => flag)), '--only']);
  const command = given.find((word, at) => !word.startsWith('-') && !takesValue.has(given[at - 1] ?? ''));
  return command === 'up' && partOf(given) !== 'sandboxd';
}

/** Whether packages may be installed; a relay needs none. */
function maySystemPackages(): boolean {
  return !words.includes('--no-system-packages') && partOf(words) !== 'relay';
}

/** The last one counts, as for the command itself. */
function partOf(given: readonly string[]): string | undefined {
  const at = given.findLastIndex((word) => word === '--only' || word.startsWith('--only='));
  return given[at] === '--only' ? given[at + 1] : given[at]?.slice('--only='.length);
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
  const restore = unsettledRestore(read.dataDir);
  if (restore === 'done') settleRestore(read.dataDir);
  // The command itself says so, and leaves the data dir as it is.
  if (restore === 'interrupted') return;
  try {
    await becomeUser(read);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isFinal = error instanceof UnreadableClone || (found && (isAdopted(found) || found.uid !== 0));
    const outcome = isFinal ? 'the platform does not start' : 'gateway and worker stay root';
    process.stderr.write(`svc: ${outcome}, they cannot become the user svc: ${printable(reason)}\n`);
    if (isFinal) process.exit(1);
    leaveToRoot(read.dataDir);
  }
}

/** Does not return when it works: the process goes on as `svc`, with this number, these words and this environment. */
async function becomeUser({ config, dataDir }: ReturnType<typeof readConfig>): Promise<void> {
  const user = platformUser();
  if (!user) return;
  const sandboxd = await prepare(config, dataDir, user);
  const way = wayFor(user, dataDir);
  const name = `helper.${randomUUID().slice(0, 8)}.sock`;
  const inside = join(dataDir, name);
  const socket = Buffer.byteLength(inside) <= longestSocket ? inside : join('/run', `svc-${name}`);
  const about = { platform: process.pid, dataDir, socket, gid: user.gid, logLevel: config.logLevel };
  const duties: Duties = { ...about, sandboxd, systemPackages: maySystemPackages() };
  const args = [...smallHeap, programPath(join(import.meta.dirname, 'helper.ts')), JSON.stringify(duties)];
  // In a session of its own: a Ctrl-C in the terminal is for the platform, which ends it in order.
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit'];
  spawn(process.execPath, args, { detached: true, stdio, env: systemEnvironment() }).unref();
  const handed: Handed = { helper: socket, files: rememberFiles(filesOf(config, dataDir)) };
  goOnAs(user, { way, dataDir, handed, words });
}

/** Makes what only root can make; answers the arguments of the node agent, if it is this platform's. */
async function prepare(config: Config, dataDir: string, user: PlatformUser): Promise<string[] | undefined> {
  adoptDataDir(dataDir, user);
  makeBackupDir(config.backup.place, user);
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
  return prepareSandboxd(config, dataDir, { systemPackages: maySystemPackages() });
}

/** Makes the folder of backups, for the platform to write to. One that is there stays whose it is. */
function makeBackupDir(place: string | undefined, { uid, gid }: PlatformUser): void {
  if (place === undefined || place.startsWith('s3://') || existsSync(place)) return;
  mkdirSync(place, { recursive: true, mode: 0o700 });
  chownSync(place, uid, gid);
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
