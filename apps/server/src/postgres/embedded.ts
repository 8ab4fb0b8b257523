import { execFile } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { statFields } from '@svc/process-lock';
import { clustersDir, enterableByAll, repairModes, systemDataDir } from './datadir.ts';
import { makeRootFolder } from '../root/adopt.ts';
import { type PlatformUser, platformUser } from '../root/user.ts';
import { isAlive, readIfThere, withFileLock } from './lock.ts';
import { postgresBinaries } from './binaries.ts';
import { launch } from './launch.ts';

/** Where a running embedded Postgres is reached. */
export interface EmbeddedPostgres {
  socketDir: string;
  port: number;
  user: string;
  pid: number;
}

/** The database's superuser; the socket's folder (0700) is what keeps others out. */
const superuser = 'svc';
const port = 5432;
/** `sun_path` holds 107 bytes; the socket's own name is `/.s.PGSQL.5432.lock` at its longest. */
const longestSocketDir = 88;
const socketName = `.s.PGSQL.${port}`;
const lockTimeoutMs = 60_000;

/**
 * Serving settings. fsync stays on. `jit` off: its compile time is longer than any of our queries. Connections: each
 * gateway's pool, its LISTEN connection and the commands, for several processes on one machine.
 */
const settings = [
  'listen_addresses=',
  `port=${port}`,
  'unix_socket_permissions=0700',
  'max_connections=200',
  'jit=off',
  'timezone=UTC',
  'log_min_messages=warning',
  'cluster_name=svc',
];

/** The cluster of a data directory; a link where the database's user could not enter that directory. */
const clusterDir = (dataDir: string): string => join(dataDir, 'postgres');

/**
 * Answers the data directory's Postgres, starting it (and creating its cluster) when it does not run. One that outlived
 * its platform process is adopted. Safe when several processes call it at once.
 */
export async function ensurePostgres(dataDir: string): Promise<EmbeddedPostgres> {
  return findRunning(dataDir) ?? locked(dataDir, () => create(dataDir));
}

/** The same for commands: nothing is created, and no mode changes. Undefined when there is no cluster yet. */
export async function borrowPostgres(dataDir: string): Promise<EmbeddedPostgres | undefined> {
  const cluster = placeOfCluster(dataDir);
  if (!existsSync(join(cluster, 'PG_VERSION'))) return undefined;
  return findRunning(dataDir) ?? locked(dataDir, () => start(dataDir, cluster, platformUser()));
}

/** Opens the folders above the cluster to the database's user again; answers those that were closed. */
export const repairFolders = (dataDir: string): string[] => repairModes(placeOfCluster(dataDir));

/** Whether this process, as the database's user, can no longer enter the folders above the cluster. */
export function isClosed(dataDir: string): boolean {
  try {
    accessSync(placeOfCluster(dataDir));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function locked(dataDir: string, work: () => Promise<EmbeddedPostgres>): Promise<EmbeddedPostgres> {
  return withFileLock(join(dataDir, 'start.lock'), lockTimeoutMs, work);
}

/** The running Postgres of a data directory, once it accepts connections. */
export function findRunning(dataDir: string): EmbeddedPostgres | undefined {
  const lines = readIfThere(join(clusterDir(dataDir), 'postmaster.pid'))?.split('\n');
  const pid = Number(lines?.[0]);
  const socketDir = lines?.[4];
  if (!lines || !socketDir || !isPostmaster(pid, clusterDir(dataDir)) || lines[7]?.trim() !== 'ready') return undefined;
  return { pid, socketDir, port: Number(lines[3]), user: superuser };
}

/** A clock that was set meanwhile moves when a process seems to have started. */
const startSkewS = 120;
const ticksPerS = 100;

/** Whether a process started when `postmaster.pid` says: its pid may have been given to another one. On Linux; elsewhere true. */
export function isStartedAsSaid(dataDir: string, pid: number): boolean {
  const said = Number(readIfThere(join(clusterDir(dataDir), 'postmaster.pid'))?.split('\n')[2]);
  if (process.platform !== 'linux') return true;
  try {
    const uptimeS = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
    const started = Date.now() / 1_000 - uptimeS + Number(statFields(pid)[19]) / ticksPerS;
    const { uid } = statSync(`/proc/${pid}`);
    // Postgres refuses to run as root.
    return uid !== 0 && Math.abs(started - said) < startSkewS;
  } catch {
    return false;
  }
}

/** Stops Postgres (fast shutdown: open transactions roll back) and waits until it is gone. */
export async function stopPostgres(postgres: EmbeddedPostgres): Promise<void> {
  if (isAlive(postgres.pid)) process.kill(postgres.pid, 'SIGINT');
  while (isAlive(postgres.pid)) await delay(10);
  const isOurs = /^svc-\w{6}$/.test(basename(postgres.socketDir));
  if (isOurs && dirname(postgres.socketDir) === tmpdir()) rmSync(postgres.socketDir, { recursive: true, force: true });
}

/** Readies the place of a cluster and what runs it, as root, for a platform that goes on as `platformUser`; answers the place. */
export async function prepareCluster(dataDir: string): Promise<string> {
  const user = platformUser();
  const cluster = placeCluster(dataDir, user);
  ownCluster(dataDir, cluster);
  await binariesFor(dataDir, cluster, user);
  repairModes(cluster);
  return cluster;
}

/**
 * Makes an empty place for a cluster in a data directory that has none, where the database's user will reach it, and answers
 * it. `giveCluster` gives that user what was put there.
 */
export function makeClusterPlace(dataDir: string): string {
  const cluster = placeCluster(dataDir, platformUser());
  ownCluster(dataDir, cluster);
  mkdirSync(cluster, { mode: 0o700 });
  return cluster;
}

/**
 * Gives a cluster that was put there the configuration of one that is made here: what somebody else's says (who may connect,
 * commands for its log) counts for nothing.
 */
export async function configureCluster(dataDir: string, cluster: string): Promise<void> {
  const user = platformUser();
  const fresh = `${cluster}.conf`;
  await createCluster(await binariesFor(dataDir, cluster, user), fresh, user);
  for (const name of ['postgresql.conf', 'pg_hba.conf', 'pg_ident.conf', 'postgresql.auto.conf'])
    writeFileSync(join(cluster, name), readOwn(join(fresh, name)), { flag: 'wx', mode: 0o600 });
  rmSync(fresh, { recursive: true, force: true });
}

/** A file of another user's folder, read by root: never what a link of that user's leads to. */
function readOwn(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { nlink, uid } = fstatSync(file);
    if (nlink !== 1 || uid !== statSync(dirname(path)).uid) throw new Error(`${path} was put there by somebody else`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** See `makeClusterPlace`. */
export async function giveCluster(cluster: string): Promise<void> {
  const user = platformUser();
  if (user) await promisify(execFile)('chown', ['-R', `${user.uid}:${user.gid}`, '--', cluster]);
}

/** Removes the cluster of a data directory that is given up, wherever it is kept. Its server must not run. */
export function removeCluster(dataDir: string): void {
  const cluster = placeOfCluster(dataDir);
  rmSync(cluster, { recursive: true, force: true });
  const home = dirname(cluster);
  if (home !== dataDir && dirname(home) === clustersDir) rmSync(home, { recursive: true, force: true });
}

async function create(dataDir: string): Promise<EmbeddedPostgres> {
  const user = platformUser();
  const cluster = placeCluster(dataDir, user);
  ownCluster(dataDir, cluster);
  if (!existsSync(cluster)) await createCluster(await binariesFor(dataDir, cluster, user), cluster, user);
  repairModes(cluster);
  return start(dataDir, cluster, user);
}

const binariesFor = (dataDir: string, cluster: string, user: PlatformUser | undefined): Promise<string> =>
  postgresBinaries(dirname(cluster) === dataDir ? dataDir : systemDataDir, user);

async function start(dataDir: string, cluster: string, user: PlatformUser | undefined): Promise<EmbeddedPostgres> {
  const running = findRunning(dataDir);
  if (running) return running;
  const home = dirname(cluster);
  const binaries = await binariesFor(dataDir, cluster, user);
  const socketDir = makeSocketDir(home, user);
  for (const file of [join(cluster, 'postmaster.pid'), join(socketDir, `${socketName}.lock`)]) dropStale(file, cluster);
  const options = ['-D', cluster, '-k', socketDir, ...settings.flatMap((setting) => ['-c', setting])];
  const launching = { binary: join(binaries, 'bin/postgres'), options, user, logFile: join(dataDir, 'postgres.log') };
  return launch(launching, () => findRunning(dataDir));
}

/**
 * Answers the cluster's real place. As root, a data directory below a folder that others cannot enter (one made by
 * `mktemp -d`, a home) keeps its cluster in a folder of its own under `/var/lib/svc`, and a link to it.
 */
function placeCluster(dataDir: string, user: PlatformUser | undefined): string {
  const link = clusterDir(dataDir);
  if (lstatSync(link, { throwIfNoEntry: false })) return placeOfCluster(dataDir);
  if (!user || enterableByAll(dataDir)) return link;
  mkdirSync(systemDataDir, { recursive: true, mode: 0o711 });
  makeRootFolder(clustersDir);
  chmodSync(clustersDir, 0o711);
  const home = mkdtempSync(join(clustersDir, 'c-'));
  chmodSync(home, 0o711);
  const cluster = join(home, basename(link));
  symlinkSync(cluster, link);
  return cluster;
}

/**
 * A cluster elsewhere notes whose it is: a copy of a data directory holds the link alone, and would share the database of
 * the first. A directory that was moved takes its cluster along.
 */
function ownCluster(dataDir: string, cluster: string): void {
  const home = dirname(cluster);
  if (home === dataDir) return;
  if (!existsSync(home)) {
    throw new Error(`the database of ${dataDir} was kept in ${home}, which is not here; put it back from its copy`);
  }
  const note = join(home, 'data-dir');
  const owner = readIfThere(note)?.trim();
  if (owner !== undefined && owner !== dataDir && existsSync(owner) && placeOfCluster(owner) === cluster) {
    throw new Error(
      `${dataDir} is a copy of ${owner}: the database of both is ${home}; copy that too, and link to the copy`,
    );
  }
  if (owner === dataDir) return;
  // Never through a link that somebody put there.
  rmSync(note, { force: true });
  writeFileSync(note, `${dataDir}\n`, { flag: 'wx' });
  // Whatever the umask: the platform reads it as another user.
  chmodSync(note, 0o644);
}

/**
 * Where the cluster of a data directory is, or would be: its link is followed. For root only one that root made: what it gives
 * to the database's user, and opens to others, must not be that user's choice.
 */
function placeOfCluster(dataDir: string): string {
  const link = clusterDir(dataDir);
  const found = lstatSync(link, { throwIfNoEntry: false });
  if (!found?.isSymbolicLink()) return link;
  if (process.getuid?.() === 0 && found.uid !== 0) {
    throw new Error(`${link} is a link that root did not make; if it is right: chown -h root ${link}`);
  }
  const place = readlinkSync(link);
  const home = dirname(place);
  // Ours, in a folder that the platform may write to: what is opened and given away there must be root's own too.
  if (process.getuid?.() === 0 && dirname(home) === clustersDir && existsSync(home))
    for (const folder of [clustersDir, home]) makeRootFolder(folder);
  return place;
}

/** initdb beside the final place, then a rename: a crash half-way leaves no cluster that looks whole. */
async function createCluster(binaries: string, cluster: string, user: PlatformUser | undefined): Promise<void> {
  const unfinished = `${cluster}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  if (user) lchownSync(unfinished, user.uid, user.gid);
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
  await promisify(execFile)(
    join(binaries, 'bin/initdb'),
    ['-D', unfinished, '-U', superuser, '-A', 'trust', ...locale],
    {
      ...user,
      env: { PATH: '/usr/bin:/bin' },
    },
  );
  renameSync(unfinished, cluster);
}

/**
 * After a crash the number in a lock file may have been given to another process, in a container always: Postgres would take
 * it for one of its own, and never start.
 */
function dropStale(file: string, cluster: string): void {
  // Not through a link: what it leads to is no folder of this database.
  if (lstatSync(dirname(file), { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const pid = Number(readIfThere(file)?.split('\n')[0]);
  if (pid > 0 && !isPostmaster(pid, cluster)) rmSync(file, { force: true });
}

function isPostmaster(pid: number, cluster: string): boolean {
  if (!(pid > 0) || !isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres' && runsIn(pid, cluster);
  } catch {
    return false;
  }
}

function runsIn(pid: number, cluster: string): boolean {
  try {
    // By identity, not by name: the cluster may be reached through a link, and every data directory's has the same name.
    const [cwd, place] = [statSync(`/proc/${pid}/cwd`), statSync(cluster)];
    return cwd.dev === place.dev && cwd.ino === place.ino;
  } catch {
    // Another user's process does not tell where it runs, but what it was started with: `-D` and its cluster.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(cluster);
  }
}

function makeSocketDir(home: string, user: PlatformUser | undefined): string {
  const inside = join(home, 'run');
  const socketDir = Buffer.byteLength(inside) <= longestSocketDir ? inside : mkdtempSync(join(tmpdir(), 'svc-'));
  mkdirSync(socketDir, { recursive: true, mode: 0o700 });
  // Never what a link of that user's leads to.
  if (user) lchownSync(socketDir, user.uid, user.gid);
  return socketDir;
}
