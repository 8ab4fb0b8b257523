import { existsSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the programs lie that run as a bundle (`build.ts`); in sources there is no such name. */
declare const bundleFolder: string | undefined;
const clone = resolve(import.meta.dirname, '../../..');

/** The name of a program's file in a bundle; `source` is its path in the clone. */
export const bundledName = (source: string): string =>
  `${source.replace(/\.ts$/, '').replaceAll(sep, '/').replaceAll('/', '.')}.mjs`;

/**
 * The file that runs a program of ours in a process or thread of its own: of the bundle that this process runs from,
 * else its source. Every program that is started by its path is asked for here, so that none runs from source by
 * accident.
 */
export function programPath(source: string | URL): string {
  const path = source instanceof URL ? fileURLToPath(source) : source;
  if (typeof bundleFolder !== 'string') return path;
  const bundled = join(bundleFolder, bundledName(relative(clone, path)));
  // A bundle that somebody removed under a process that runs.
  return existsSync(bundled) ? bundled : path;
}
