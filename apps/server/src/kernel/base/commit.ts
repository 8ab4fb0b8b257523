import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const shortLength = 12;

/** The first digits of the commit that a clone has checked out, read without git; undefined: it is no clone. */
export function commitOf(root: string): string | undefined {
  try {
    const folder = gitFolderOf(root);
    const head = textOf(join(folder, 'HEAD'));
    const ref = /^ref: (\S+)$/.exec(head)?.[1];
    return (ref === undefined ? head : readRef(folder, ref)).slice(0, shortLength);
  } catch {
    return undefined;
  }
}

const textOf = (path: string): string => readFileSync(path, 'utf8').trim();

/** Of a worktree `.git` is a file that names it. */
function gitFolderOf(root: string): string {
  const path = join(root, '.git');
  try {
    const [, named = ''] = /^gitdir: (.+)$/.exec(textOf(path)) ?? [];
    return resolve(root, named);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') return path;
    throw error;
  }
}

function readRef(folder: string, ref: string): string {
  // What a worktree shares with its clone is there.
  const shared = optional(() => resolve(folder, textOf(join(folder, 'commondir')))) ?? folder;
  const loose = optional(() => textOf(join(shared, ref)));
  if (loose !== undefined) return loose;
  const line = textOf(join(shared, 'packed-refs'))
    .split('\n')
    .find((one) => one.endsWith(` ${ref}`));
  if (line === undefined) throw new Error(`${ref} is not there`);
  return line;
}

function optional<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
