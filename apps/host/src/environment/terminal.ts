import { spawn } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { terminalRequest } from '@svc/contract';
import { frameOf, FrameReader, kinds } from '@svc/tunnel';
import type { ProcessGroups } from '../groups.ts';

/** Where and with what a terminal runs. */
interface TerminalOptions {
  cols: number;
  rows: number;
  cwd: string;
  /** Without anything that holds the key. */
  environment: Readonly<Record<string, string>>;
  groups: ProcessGroups;
  /** The Linux user that it runs as; unset: that of the daemon. Root alone may. */
  as?: { uid: number; gid: number };
}

/** Time for the shell to take its hangup, before it is killed (milliseconds). */
const hangUpMs = 2_000;

/**
 * Runs a login shell in a real terminal, which `script` of util-linux makes: the daemon carries no native module. Over the stream
 * go frames: bytes both ways, sizes in, the exit code last. It ends with the stream.
 */
export function runTerminal(stream: Duplex, { cols, rows, cwd, environment, groups, as }: TerminalOptions): void {
  const shell = environment['SHELL'] || '/bin/sh';
  const env = { ...environment, TERM: environment['TERM'] || 'xterm-256color', COLUMNS: '', LINES: '' };
  const size = `stty cols ${cols} rows ${rows} 2>/dev/null; unset COLUMNS LINES; exec ${quoted(shell)} -l`;
  const args =
    process.platform === 'darwin' ? ['-q', '/dev/null', '/bin/sh', '-c', size] : ['-qfec', size, '/dev/null'];
  // With the groups of the user, which Node.js would leave out; `script` then makes a terminal that belongs to it.
  const user = as ? ['setpriv', `--reuid=${as.uid}`, `--regid=${as.gid}`, '--init-groups', '--'] : [];
  const [file = '', ...words] = [...user, 'script', ...args];
  const child = spawn(file, words, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  if (child.pid !== undefined) groups.add(child.pid);
  const hangUp = (): void => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    signal(child.pid, 'SIGHUP');
    setTimeout(() => signal(child.pid, 'SIGKILL'), hangUpMs).unref();
  };
  const resize = resizerOf(child.pid);
  const reader = new FrameReader();
  stream.on('data', (chunk: Buffer) => {
    try {
      for (const { kind, payload } of reader.read(chunk)) {
        if (kind === kinds.json) resize(terminalRequest.parse(JSON.parse(payload.toString())).resize);
        else if (!child.stdin.write(payload)) {
          stream.pause();
          child.stdin.once('drain', () => stream.resume());
        }
      }
    } catch {
      stream.destroy();
    }
  });
  child.stdin.on('error', () => {});
  child.stdout.on('data', (chunk: Buffer) => {
    if (stream.destroyed || stream.write(frameOf(kinds.bytes, chunk))) return;
    child.stdout.pause();
    stream.once('drain', () => child.stdout.resume());
  });
  stream.once('close', () => {
    hangUp();
    // What it still writes is read to its end, or it would wait for ever.
    child.stdout.resume();
  });
  const ended = (code: number | null, how: NodeJS.Signals | null): void => {
    if (child.pid !== undefined) groups.delete(child.pid);
    if (stream.destroyed) return;
    stream.end(frameOf(kinds.json, Buffer.from(JSON.stringify({ exit_code: code, signal: how }))));
  };
  child.once('error', () => ended(null, null));
  child.once('close', ended);
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function signal(group: number | undefined, name: NodeJS.Signals): void {
  if (group === undefined) return;
  try {
    process.kill(-group, name);
  } catch {
    // It has ended.
  }
}

interface Size {
  cols: number;
  rows: number;
}

/** Sets sizes one after the other, the last one last: of two that are set at once the first may come second. */
function resizerOf(pid: number | undefined): (size: Size) => void {
  let wanted: Size | undefined;
  let isBusy = false;
  const work = async (): Promise<void> => {
    isBusy = true;
    for (let next = wanted; next !== undefined; next = wanted) {
      wanted = undefined;
      await setSize(pid, next);
    }
    isBusy = false;
  };
  return (size) => {
    wanted = size;
    if (!isBusy) void work();
  };
}

/** Tells the terminal its size, by the side that `script` holds. */
async function setSize(pid: number | undefined, { cols, rows }: Size): Promise<void> {
  const path = pid === undefined ? undefined : await terminalOf(pid);
  if (path === undefined) return;
  const stty = spawn('stty', ['-F', path, 'cols', String(cols), 'rows', String(rows)], { stdio: 'ignore' });
  await new Promise<void>((resolve) => stty.once('error', () => resolve()).once('close', () => resolve()));
}

/** The terminal of the shell below `script`: it is what its first child has for standard input. */
async function terminalOf(pid: number): Promise<string | undefined> {
  for (const child of await childrenOf(pid)) {
    const path = await readlink(`/proc/${child}/fd/0`).catch(() => undefined);
    if (path?.startsWith('/dev/pts/')) return path;
  }
  return undefined;
}

async function childrenOf(pid: number): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
  );
  return lists.flatMap((list) => list.trim().split(/\s+/)).filter((one) => one !== '');
}
