import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { access, chmod, chown, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SystemPackages } from '../system-packages.ts';

/** A running clamd of our own. */
export interface Clamd {
  connect(): Promise<Socket>;
  alive(): boolean;
  stop(): Promise<void>;
}

export interface ClamdOptions {
  packages: SystemPackages;
  /** Where freshclam keeps its database. */
  databaseDir?: string;
}

/** Reading freshclam's whole database takes some 20 s; on a busy machine with slow disks more. */
const startMs = 180_000;
/** The signatures that ship with the product, for a machine that cannot fetch any. */
const shipped = join(import.meta.dirname, 'signatures.ndb');

/**
 * Starts clamd as an unprivileged user, with its own socket and settings; it ends with this process. Throws with what
 * to do about it when it cannot.
 */
export async function startClamd({ packages, databaseDir = '/var/lib/clamav' }: ClamdOptions): Promise<Clamd> {
  const missing = await packages.ensure({ clamd: 'clamav-daemon', setpriv: 'util-linux' });
  if (missing !== undefined) throw new Error(`to scan files, ${missing}`);
  const user = process.getuid?.() === 0 ? await unprivileged() : undefined;
  // Not in the state directory: its parents may be closed to that user, and its path too long for a socket's name.
  const place = await onDisk();
  await sweep(place);
  const dir = await mkdtemp(join(place, `svc-clamd-${process.pid}-`));
  const cleanUp = () => rm(dir, { recursive: true, force: true });
  try {
    const socket = join(dir, `${randomUUID().slice(0, 8)}.sock`);
    const database = (await hasSignatures(databaseDir)) ? databaseDir : join(dir, 'db');
    await mkdir(join(dir, 'db'));
    await copyFile(shipped, join(dir, 'db', 'signatures.ndb'));
    await mkdir(join(dir, 'tmp'), { mode: 0o700 });
    await writeFile(join(dir, 'clamd.conf'), settings(dir, socket, database));
    if (user) for (const name of ['', 'tmp']) await chown(join(dir, name), user.uid, user.gid);
    for (const name of ['db', 'db/signatures.ndb', 'clamd.conf']) await chmod(join(dir, name), 0o755);
    const drop = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : [];
    const command = [
      '--pdeathsig',
      'KILL',
      ...drop,
      'clamd',
      '--foreground',
      `--config-file=${join(dir, 'clamd.conf')}`,
    ];
    const child = spawn('setpriv', command, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
    await listening(child, socket);
    child.unref();
    return {
      connect: () => connect(socket),
      alive: () => !ended(child),
      async stop() {
        await kill(child);
        await cleanUp();
      },
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/**
 * A file over a limit is reported, and gets no verdict: a file that was half scanned is not clean. ClamAV looks
 * at nothing from 2 GiB on; a workspace's largest file is just about that.
 */
function settings(dir: string, socket: string, database: string): string {
  const lines = {
    LocalSocket: socket,
    LocalSocketMode: '600',
    DatabaseDirectory: database,
    TemporaryDirectory: join(dir, 'tmp'),
    StreamMaxLength: '2047M',
    MaxFileSize: '2047M',
    MaxScanSize: '4000M',
    MaxScanTime: '300000',
    // In an archive; a workspace has at most 200,000.
    MaxFiles: '250000',
    AlertExceedsMax: 'yes',
    MaxThreads: '2',
    MaxQueue: '64',
    ConcurrentDatabaseReload: 'no',
    ExitOnOOM: 'yes',
  };
  return Object.entries(lines)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}

/** Where others may write too, and not to memory, as /tmp often is: a scan puts down whole files, of up to 2 GiB. */
async function onDisk(): Promise<string> {
  const place = '/var/tmp';
  return await access(place, constants.W_OK).then(
    () => place,
    () => tmpdir(),
  );
}

/** Removes what processes left that could not clean up; their clamd ended with them. */
async function sweep(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const pid = /^svc-clamd-(\d+)-/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(place, name), { recursive: true, force: true }).catch(() => {});
  }
}

/** clamav's user, or nobody. */
async function unprivileged(): Promise<{ uid: number; gid: number }> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([name]) => name === 'clamav') ?? lines.find(([name]) => name === 'nobody') ?? [];
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) };
}

async function hasSignatures(dir: string): Promise<boolean> {
  return (await readdir(dir).catch(() => [])).some((name) => /^(main|daily)\.(cvd|cld)$/.test(name));
}

async function listening(child: ChildProcess, socket: string): Promise<void> {
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4096);
  });
  child.on('error', (error) => {
    complaint ||= error.message;
  });
  for (let waited = 0; waited < startMs; waited += 50) {
    if (ended(child)) break;
    const connection = await connect(socket).catch(() => undefined);
    if (connection) {
      connection.destroy();
      return;
    }
    await sleep(50);
  }
  await kill(child);
  throw new Error(`clamd does not start: ${complaint.trim().split('\n').at(-1) ?? ''}`);
}

async function connect(path: string): Promise<Socket> {
  const socket = createConnection(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function ended(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function kill(child: ChildProcess): Promise<void> {
  if (ended(child)) return;
  // Held again: nothing else may keep this process going until it is gone.
  child.ref();
  const gone = once(child, 'exit');
  // setpriv became clamd: there is nothing to hand back, and SIGTERM would wait for scans under way.
  child.kill('SIGKILL');
  await gone;
}
