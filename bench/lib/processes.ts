import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A child process; disposing of it ends it and waits. */
export interface Running extends AsyncDisposable {
  readonly pid: number;
  /** The first match of `pattern` in what it has written so far or writes within `ms`. */
  written(pattern: RegExp, ms?: number): Promise<RegExpExecArray>;
}

const termMs = 12_000;
// Each child has a listener for the end of this process.
process.setMaxListeners(64);

/** Starts a process whose output is kept, not shown. It is ended when this process ends, however that comes about. */
export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit').catch(() => undefined);
  let output = '';
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      changed();
    });
  }
  void exited.then(changed);
  const kill = (): void => void child.kill('SIGTERM');
  process.once('exit', kill);

  return {
    pid: child.pid ?? 0,
    written(pattern, ms = 60_000) {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
      const look = (): void => {
        const match = pattern.exec(output);
        if (match) resolve(match);
        else if (hasEnded(child)) reject(new Error(`${command} ended without ${pattern}:\n${output.slice(-2_000)}`));
      };
      const timer = setTimeout(() => reject(new Error(`${command} did not write ${pattern} within ${ms} ms`)), ms);
      listeners.add(look);
      look();
      return promise.finally(() => {
        clearTimeout(timer);
        listeners.delete(look);
      });
    },
    async [Symbol.asyncDispose]() {
      process.off('exit', kill);
      if (hasEnded(child)) return;
      child.kill('SIGTERM');
      const last = setTimeout(() => child.kill('SIGKILL'), termMs);
      await exited;
      clearTimeout(last);
    },
  };
}

const hasEnded = (child: ChildProcess): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** CPU seconds of the whole machine since its start, and those of this process and the children that have ended. */
export function cpuSeconds(): { machine: number; own: number } {
  const ticks = 100;
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/).map(Number) ?? [];
  // The name in parentheses may hold spaces; user and system time, own and of children, are fields 14 to 17.
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  const own = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
  return { machine: (user + nice + system + irq + softirq) / ticks, own: own / ticks };
}

/** Resident memory of a process in KiB: all of it, and the part that is not mapped from files. */
export function memoryOf(pid: number): { rss: number; anonymous: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN);
  return { rss: read('VmRSS'), anonymous: read('RssAnon') };
}
