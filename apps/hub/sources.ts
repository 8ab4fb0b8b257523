import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** What a build made, as `hub.json` beside its files says it. */
export interface HubBuild {
  /** Of the sources: names the folder. */
  hash: string;
  /** First script, and its style sheet. */
  entry: string;
  style: string;
  /** Scripts that the first one imports. */
  preload: string[];
  /** First script and style of documents that stand in frames, by name. */
  frames: Record<string, { entry: string; style?: string }>;
  /** Every file that is served below `assets/`. */
  files: string[];
  /** Bytes of the first load of the first page, gzip -9. */
  firstLoadBytes: number;
}

/** Name of the file that says what a build made. */
export const buildFile = 'hub.json';
/** Folder of this app. */
export const hubFolder = import.meta.dirname;

const repository = join(hubFolder, '../..');
/** All that a build is made of. */
const places = ['apps/hub/src', 'apps/hub/icons', 'packages/sdk/src', 'packages/contract/src', 'packages/words/src'];
const files = ['apps/hub/build.ts', 'apps/hub/package.json', 'package-lock.json'];

/** Hash of the sources and of the lock file: equal sources need no second build. Takes 10 ms. */
export async function hashOfSources(): Promise<string> {
  const found = await Promise.all(
    places.map(async (place) => {
      const entries = await readdir(join(repository, place), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
        .map((entry) => relative(repository, join(entry.parentPath, entry.name)));
    }),
  );
  const names = [...found.flat(), ...files].map((name) => name.split(sep).join('/'));
  names.sort((one, other) => (one < other ? -1 : 1));
  const contents = await Promise.all(names.map(async (name) => readFile(join(repository, name))));
  const hash = createHash('sha256');
  for (const [at, content] of contents.entries()) hash.update(`${names[at]}\0${content.length}\0`).update(content);
  return hash.digest('hex').slice(0, 16);
}
