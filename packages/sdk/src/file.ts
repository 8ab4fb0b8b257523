import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { takeLock } from '@svc/process-lock';
import type { OutboxStorage } from './outbox.storage.ts';
import { sleep } from './pause.ts';

export type { OutboxStorage } from './outbox.storage.ts';

const suffix = '.json';
/** How often a process looks whether another one has given the lock back. */
const lockPollMs = 100;
/** No write takes so long. */
const leftMs = 600_000;

/**
 * Keeps an outbox in a folder (0700), one file for a write: a file is written beside its place and moved there, so that a
 * process or a machine that dies leaves it whole or not at all.
 */
export function fileStorage(folder: string): OutboxStorage {
  const pathOf = (id: string): string => join(folder, `${id}${suffix}`);
  const made = mkdir(folder, { recursive: true, mode: 0o700 }).then(() => sweep(folder));
  // Whoever uses it first hears of it.
  made.catch(() => {});
  return {
    async ids() {
      await made;
      const names = (await readdir(folder)).filter((name) => name.endsWith(suffix));
      return names.map((name) => name.slice(0, -suffix.length)).sort();
    },
    read: (id) => readFile(pathOf(id), 'utf8').catch(undefinedIfMissing),
    async write(id, text) {
      await made;
      const temporary = join(folder, `${randomUUID()}.tmp`);
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, pathOf(id));
      await syncFolder(folder);
    },
    async remove(id) {
      await rm(pathOf(id), { force: true });
      await syncFolder(folder);
    },
    async alone(work, signal) {
      await made;
      for (;;) {
        signal.throwIfAborted();
        // A file that names no process is one that its writer is just making.
        const { lock } = await takeLock(join(folder, 'lock'), 1_000);
        if (lock) {
          try {
            return await work();
          } finally {
            lock.release();
          }
        }
        await sleep(lockPollMs, signal);
      }
    },
    async close() {},
  };
}

/** Removes what a process left that died while it wrote. */
async function sweep(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => one.endsWith('.tmp'))) {
    const path = join(folder, name);
    const written = (await stat(path).catch(undefinedIfMissing))?.mtimeMs ?? Date.now();
    if (Date.now() - written > leftMs) await rm(path, { force: true });
  }
}

const undefinedIfMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
};

/** Makes the names in a folder durable; Windows opens no folder and needs none of it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
