import { execFile } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';

/** A TCP port on which a process listens. */
interface Listener {
  port: number;
  /** Null: it belongs to somebody whose processes this user cannot look into. */
  pid: number | null;
  process: string | null;
}

/** Of one machine. */
const most = 256;
/** Processes that are looked into. */
const mostProcesses = 5_000;
const listening = '0A';

/** Ports on which this machine listens, by number: those that loopback reaches. */
export async function listenersOf(platform: NodeJS.Platform = process.platform): Promise<Listener[]> {
  const all = platform === 'darwin' ? await ofLsof() : await ofProc();
  return [...all.values()].sort((a, b) => a.port - b.port).slice(0, most);
}

async function ofProc(): Promise<Map<number, Listener>> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const portOf = new Map<string, number>();
  for (const line of tables.flatMap((table) => table.split('\n').slice(1))) {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state === listening && inode !== undefined)
      portOf.set(inode, Number.parseInt(local.split(':').at(-1) ?? '', 16));
  }
  const found = new Map<number, Listener>();
  for (const port of portOf.values()) found.set(port, { port, pid: null, process: null });
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).slice(0, mostProcesses);
  for (const pid of pids) await lookInto(pid, portOf, found);
  return found;
}

/** Notes the ports of a process; one that is not ours to see is passed over. */
async function lookInto(pid: string, portOf: ReadonlyMap<string, number>, found: Map<number, Listener>): Promise<void> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
    const port = portOf.get(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '');
    if (port === undefined || found.get(port)?.pid !== null) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    found.set(port, { port, pid: Number(pid), process: name.trim().slice(0, 100) || null });
  }
}

async function ofLsof(): Promise<Map<number, Listener>> {
  const args = ['-nP', '-iTCP', '-sTCP:LISTEN', '-F', 'pcn'];
  const text = await new Promise<string>((resolve) => {
    execFile('lsof', args, { timeout: 5_000, maxBuffer: 1024 * 1024 }, (_error, stdout) => resolve(stdout));
  });
  return parseLsof(text);
}

/** What `lsof -F pcn` prints: a line for each process, its command, and each of its sockets. */
function parseLsof(text: string): Map<number, Listener> {
  const found = new Map<number, Listener>();
  let pid: number | null = null;
  let name: string | null = null;
  for (const line of text.split('\n')) {
    const value = line.slice(1);
    if (line.startsWith('p')) [pid, name] = [Number(value), null];
    else if (line.startsWith('c')) name = value.slice(0, 100);
    else if (line.startsWith('n')) {
      const port = Number(/:(\d+)$/.exec(value)?.[1]);
      if (port > 0 && !found.has(port)) found.set(port, { port, pid, process: name });
    }
  }
  return found;
}
