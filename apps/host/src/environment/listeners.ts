import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type RelayReport, reportBounds } from '@svc/contract';

/** A listening port, as it is reported. */
type Listener = RelayReport['listeners'][number];

/** Looks for the TCP ports that listen on this machine. */
interface ListenerScan {
  /** Those that a client can reach through the tunnel, by number; empty where the system does not say. */
  look(): Promise<Listener[]>;
}

const execute = promisify(execFile);

/** Most processes and open files that one look reads; a machine with more shows the rest without a process. */
const most = { processes: 8_192, files: 100_000 };
/** A socket whose process was not found is looked for again after this: a process may hand it to another one. */
const againMs = 60_000;
const listening = '0A';
const lsofMs = 5_000;

/** Makes the scan of this machine; `environment` is that of the system's commands. */
export function createListenerScan(environment: Readonly<Record<string, string>>): ListenerScan {
  if (process.platform === 'linux') return new ProcScan();
  return {
    async look() {
      const args = ['-nP', '-iTCP', '-sTCP:LISTEN', '-Fpcn'];
      // lsof exits with 1 when nothing listens.
      const said = await execute('lsof', args, { env: environment, timeout: lsofMs, maxBuffer: 4_194_304 }).catch(
        (error: { stdout?: string }) => error,
      );
      return parseLsof(said.stdout ?? '');
    },
  };
}

/** The listeners in what `lsof -Fpcn` says: a line a field, `p` and `c` once a process, `n` for each of its sockets. */
export function parseLsof(text: string): Listener[] {
  const found = new Map<number, Listener>();
  let pid: number | null = null;
  let name: string | null = null;
  for (const line of text.split('\n')) {
    const value = line.slice(1);
    if (line.startsWith('p')) [pid, name] = [Number(value), null];
    else if (line.startsWith('c')) name = value;
    else if (line.startsWith('n')) {
      const [, port] = /^(?:\*|127\.0\.0\.1|\[::1\]|\[::\]):(\d+)$/.exec(value) ?? [];
      if (port !== undefined && !found.has(Number(port)))
        found.set(Number(port), { port: Number(port), pid, process: name });
    }
  }
  return bounded([...found.values()]);
}

/** The process that holds a socket, and where: so that the next look asks one file and not all. */
interface Owner {
  pid: number;
  file: string;
  name: string | null;
}

/** Reads `/proc`. A process is looked for once a socket: all files of all processes are read only for new sockets. */
class ProcScan implements ListenerScan {
  #owners = new Map<string, Owner>();
  /** Sockets whose process was not found, and when. */
  #unknown = new Map<string, number>();

  async look(): Promise<Listener[]> {
    const sockets = await listeningSockets();
    await this.#forgetGone(sockets);
    const now = performance.now();
    const wanted = new Set(
      [...sockets.keys()].filter((inode) => {
        const since = this.#unknown.get(inode);
        return !this.#owners.has(inode) && (since === undefined || now - since >= againMs);
      }),
    );
    for (const [inode, owner] of await findOwners(wanted)) this.#owners.set(inode, owner);
    for (const inode of wanted) {
      if (this.#owners.has(inode)) this.#unknown.delete(inode);
      else this.#unknown.set(inode, now);
    }
    const found = new Map<number, Listener>();
    for (const [inode, port] of sockets) {
      const { pid = null, name = null } = this.#owners.get(inode) ?? {};
      // A server may listen twice, for each version of IP.
      if (found.get(port)?.pid == null) found.set(port, { port, pid, process: name });
    }
    return bounded([...found.values()]);
  }

  async #forgetGone(sockets: ReadonlyMap<string, number>): Promise<void> {
    for (const inode of this.#unknown.keys()) if (!sockets.has(inode)) this.#unknown.delete(inode);
    for (const [inode, { file }] of this.#owners) {
      if (!sockets.has(inode) || (await linkOf(file)) !== `socket:[${inode}]`) this.#owners.delete(inode);
    }
  }
}

/** Ports by inode of their socket: of those that listen where the tunnel reaches, on every address or on the loopback's. */
async function listeningSockets(): Promise<Map<string, number>> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const sockets = new Map<string, number>();
  for (const line of tables.flatMap((table) => table.split('\n').slice(1))) {
    const [, local = '', , state, , , , , , inode = '0'] = line.trim().split(/\s+/);
    const [address = '', port = ''] = local.split(':');
    if (state === listening && reachable.has(address)) sockets.set(inode, Number.parseInt(port, 16));
  }
  return sockets;
}

/** Addresses as the kernel prints them: words of 32 bits in the machine's own order of bytes. */
const reachable = new Set([
  '00000000',
  '0100007F',
  '00000000000000000000000000000000',
  '00000000000000000000000001000000',
  // The loopback of version 4 as one of version 6.
  '0000000000000000FFFF00000100007F',
]);

async function findOwners(wanted: ReadonlySet<string>): Promise<Map<string, Owner>> {
  const owners = new Map<string, Owner>();
  if (wanted.size === 0) return owners;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).slice(0, most.processes);
  let files = 0;
  for (const pid of pids) {
    if (owners.size === wanted.size || files > most.files) break;
    const directory = `/proc/${pid}/fd`;
    // Those of other users cannot be read.
    const names = (await readdir(directory).catch(() => [])).slice(0, most.files - files);
    files += names.length;
    const links = await Promise.all(names.map((name) => linkOf(`${directory}/${name}`)));
    for (const [at, link] of links.entries()) {
      const inode = /^socket:\[(\d+)\]$/.exec(link ?? '')?.[1];
      // The first one: children often inherit a socket that their parent serves.
      if (inode === undefined || !wanted.has(inode) || owners.has(inode)) continue;
      owners.set(inode, { pid: Number(pid), file: `${directory}/${names[at]}`, name: await nameOf(pid) });
    }
  }
  return owners;
}

const linkOf = (path: string): Promise<string | undefined> => readlink(path).catch(() => undefined);

async function nameOf(pid: string): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => undefined);
  return text?.trimEnd() ?? null;
}

const bounded = (listeners: readonly Listener[]): Listener[] =>
  listeners.toSorted((a, b) => a.port - b.port).slice(0, reportBounds.listeners);
