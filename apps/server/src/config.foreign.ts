import { lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { CommandError } from './kernel/base/command-error.ts';

/** Whether a data dir is that of a platform that became another user (`root/adopt.ts`). */
export const isAdopted = ({ mode, gid }: Stats): boolean => (mode & 0o1000) !== 0 && gid !== 0;

/** Whether a path is a file of root's, and no link to one. */
export function isOfRoot(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.uid === 0;
}

/**
 * Root runs programs and reads files that this file names. In a data dir that the platform writes to, as another user, it has
 * to be root's, which nobody else can put there (the folder is sticky); throws `CommandError` otherwise.
 */
export function refuseForeign(file: string): void {
  if (process.getuid?.() !== 0 || !lstatSync(file, { throwIfNoEntry: false })) return;
  const folder = statSync(dirname(file));
  if (!isAdopted(folder) || isOfRoot(file)) return;
  throw new CommandError(`${file} is not root's: look at what it says, then: chown root ${file}`);
}
