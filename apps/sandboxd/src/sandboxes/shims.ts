import { type ChildProcess, spawn } from 'node:child_process';
import type { ShimSpec } from '../shim/spec.ts';

/** Starts shims; some wait in store, since Node.js takes 40 to 150 ms to start. */
export interface Shims {
  /** Gives a shim its sandbox; settles once it listens. */
  start(spec: ShimSpec): Promise<void>;
  /** Fills the store up. */
  refill(): void;
  /** Has at least so many in store soon. */
  prepare(count: number): void;
  close(): void;
}

/** `path` is of the shim's module; `dir` stands in their command line, so that `ps` tells whose they are. */
export function createShims(spares: number, path: string, dir: string): Shims {
  const store: ChildProcess[] = [];
  const state = { isClosed: false };
  const launch = (): ChildProcess => {
    const child = spawn(
      process.execPath,
      ['--max-old-space-size=64', '--max-semi-space-size=1', path, dir],
      // A session of its own: no signal to sandboxd's group or terminal reaches it.
      { detached: true, stdio: ['pipe', 'pipe', 'ignore'], cwd: '/', env: {} },
    );
    child.unref();
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
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
    start(spec) {
      const child = store.shift() ?? launch();
      return new Promise((resolve, reject) => {
        child.once('exit', () => reject(new Error('the shim ended before it was ready')));
        child.once('error', reject);
        child.stdout?.once('data', () => {
          child.stdin?.destroy();
          child.stdout?.destroy();
          resolve();
        });
        child.stdin?.write(`${JSON.stringify(spec)}\n`);
      });
    },
    refill: () => fill(spares),
    prepare: (count) => fill(count),
    close() {
      state.isClosed = true;
      for (const child of store.splice(0)) child.stdin?.destroy();
    },
  };
}
