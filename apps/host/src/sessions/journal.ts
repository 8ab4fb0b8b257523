import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '@svc/contract';
import { z } from 'zod';
import { errnoOf } from '../failure.ts';
import { writePrivate } from '../state.ts';

const entryFile = z.object({
  id: uuid,
  session_id: uuid,
  text: z.string(),
  /** Its command may have started: it is not run again. */
  started: z.boolean(),
});

/** A prompt that this machine took and whose turn is not reported yet. */
export type Taken = z.output<typeof entryFile>;

/** Taken prompts, a file for each, so that a daemon that is killed loses nothing and runs nothing twice. */
export interface TakenPrompts {
  /** Writes it down; whole or not at all. */
  keep(entry: Taken): Promise<void>;
  forget(id: string): Promise<void>;
  /** Prompts of an earlier daemon. Skips damaged files. */
  list(): Promise<Taken[]>;
}

/** Opens the directory (0700). */
export async function openTaken(directory: string): Promise<TakenPrompts> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = (id: string): string => join(directory, `${id}.json`);
  return {
    keep: async (entry) => void (await writePrivate(path(entry.id), JSON.stringify(entry), false)),
    forget: (id) => rm(path(id), { force: true }),
    async list() {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
      const read = await Promise.all(names.map((name) => readEntry(join(directory, name))));
      return read.filter((entry) => entry !== undefined);
    },
  };
}

async function readEntry(path: string): Promise<Taken | undefined> {
  try {
    return entryFile.safeParse(JSON.parse(await readFile(path, 'utf8'))).data;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
