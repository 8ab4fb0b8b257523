import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Cage } from '../shim/cage.ts';
import type { ShimSpec } from '../shim/spec.ts';

const starter = join(import.meta.dirname, '../shim/start.sh');

/** Starts shims; some wait in store, since Node.js takes 40 to 150 ms to start. */
export interface Shims {
  /** Gives a shim its sandbox, which `command` starts; settles once it listens. */
  start(spec: ShimSpec, command: readonly string[]): Promise<void>;
  /** Fills the store up. */
  refill(): void;
  /** Has at least so many in store soon. */
  prepare(count: number): void;
  close(): void;
}

/** `path` is of the shim's module; `dir` stands in their command line, so that `ps` tells whose they are. */
export function createShims(
  spares: number,
  { path, dir, cage }: { path: string; dir: string; cage: Pick<Cage, 'words' | 'filter'> },
): Shims {
  const store: ChildProcess[] = [];
  const state = { isClosed: false };
  // A warning would be a line on its standard error, which ends the sandbox.
  const shim = [process.execPath, '--no-warnings', '--max-old-space-size=64', '--max-semi-space-size=1', path, dir];
  const launch = (): ChildProcess => {
    const child = spawn('/bin/sh', [starter, dir, cage.filter, ...cage.words, ...shim], {
      // A session of its own: no signal to sandboxd's group or terminal reaches it.
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
      cwd: '/',
      env: {},
    });
    child.unref();
    child.on('error', () => {});
    for (const stream of [child.stdin, specOf(child)]) stream?.on('error', () => {});
    child.once('exit', () => {
      const at = store.indexOf(child);
      if (at >= 0) store.splice(at, 1);
    });
    return child;
  };
  const fill = (count: number): void => {
    while (!state.isClosed && store.length < count) store.push(launch());
  };
  return {
    async start(spec, command) {
      await writeFile(spec.log, '', { mode: 0o600 });
      const child = store.shift() ?? launch();
      await new Promise<void>((resolve, reject) => {
        child.once('exit', () => reject(new Error('the shim ended before it was ready')));
        child.once('error', reject);
        child.stdout?.once('data', () => resolve());
        specOf(child)?.write(`${JSON.stringify(spec)}\n`);
        child.stdin?.end([...[spec.log, ...command].map(quoted), '.'].join(' '));
      });
      for (const stream of [child.stdin, child.stdout, specOf(child)]) stream?.destroy();
    },
    refill: () => fill(spares),
    prepare: (count) => fill(count),
    close() {
      state.isClosed = true;
      for (const child of store.splice(0)) {
        child.stdin?.destroy();
        specOf(child)?.destroy();
      }
    },
  };
}

const specOf = (child: ChildProcess): Writable | null => child.stdio[3] as Writable | null;

/** A word as a shell reads it. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
