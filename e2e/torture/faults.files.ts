import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { Fault } from './fault.ts';

/** Says of something that is done to a file whether it fails, and with which code. */
type Judge = (what: string) => string | undefined;

/** By the folder of the blobs of a world. */
const judges = new Map<string, Judge>();

const { open, rename } = promises;

function check(path: unknown, what: string): void {
  const name = String(path);
  const judge = [...judges].find(([folder]) => name.startsWith(folder))?.[1];
  const code = judge?.(what);
  if (code !== undefined) throw Object.assign(new Error(`${code}: made for a test, ${what}`), { code, syscall: what });
}

/** Has each write and sync of a handle ask first. */
function watched(handle: FileHandle, path: unknown): FileHandle {
  for (const what of ['write', 'writev', 'sync', 'datasync'] as const) {
    const real = (handle[what] as (...values: unknown[]) => Promise<unknown>).bind(handle);
    Object.assign(handle, {
      [what]: async (...values: unknown[]) => {
        check(path, what);
        return real(...values);
      },
    });
  }
  return handle;
}

/** Puts itself between this process and its files, once. */
function install(): void {
  if (promises.open !== open) return;
  promises.open = (async (path: never, flags: never, mode: never) => {
    const isWritten = typeof flags === 'string' && flags !== 'r';
    if (isWritten) check(path, 'open');
    return watched(await open(path, flags, mode), path);
  }) as typeof open;
  promises.rename = (async (from: never, to: never) => {
    check(to, 'rename');
    return rename(from, to);
  }) as typeof rename;
  syncBuiltinESMExports();
}

const failing = (name: string, code: string, isOurs: boolean): Fault => ({
  name,
  isOurs,
  arm({ helper }, nth) {
    install();
    const folder = join(helper.kernel.dataDir, 'blobs');
    let count = 0;
    let hit: string | undefined;
    judges.set(folder, (what) => {
      if (++count !== nth) return undefined;
      hit = what;
      return code;
    });
    return { hit: () => hit, [Symbol.dispose]: () => void judges.delete(folder) };
  },
});

/** The n-th open for writing, write, sync or rename of the store of blobs finds the disk full, or broken. */
export const fileFaults: readonly Fault[] = [failing('full', 'ENOSPC', false), failing('broken', 'EIO', true)];
