import { readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Progress } from './progress.ts';

/** How often who waits for another process looks, and its progress is written. */
export const pollMs = 500;
/** A progress that was not written for so long belongs to a process that is gone. */
const staleMs = 10_000;

const progressFile = z.object({ progress: z.number(), step: z.string() });

/** How far the process is that writes this file; undefined when none does. */
export function readPublished(path: string, now: number): Progress | undefined {
  try {
    if (now - statSync(path).mtimeMs > staleMs) return undefined;
    return progressFile.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Writes to this file how far it is, for other processes, until what is answered is called; nothing is left half-written. */
export function publish(path: string, latest: () => Progress): () => Promise<void> {
  let writing: Promise<void> | undefined;
  const beat = setInterval(() => {
    writing ??= write(path, latest()).finally(() => {
      writing = undefined;
    });
  }, pollMs);
  return async () => {
    clearInterval(beat);
    await writing;
  };
}

/** What cannot be written is not told: it is no reason to end a build. */
async function write(path: string, progress: Progress): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(progress)).catch(() => {});
  await rename(`${path}.new`, path).catch(() => {});
}
