import { accessSync, constants, readFileSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { CommandError, errnoOf } from '../failure.ts';

/** What `svc` of an invited machine knows, so that the lines that pages tell work there as they stand. */
export interface Wrapped {
  /** The words that start the programs. */
  program: readonly string[];
  url: string;
  keyFile: string;
  stateDir: string;
  /** Whose files these are. */
  user: string;
}

const mark = '# Made by svc host install; svc host uninstall removes it.';

/** One word of a line for a shell. */
export const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** A script that is `svc`: of what belongs to the host it knows url, key and state directory; the rest is the programs' own. */
function wrapperText({ program, url, keyFile, stateDir, user }: Wrapped): string {
  const start = program.map(shellWord).join(' ');
  const key = shellWord(keyFile);
  const own = `--url ${shellWord(url)} --key-file ${key} --state-dir ${shellWord(stateDir)}`;
  return `#!/bin/sh
${mark}
if [ "$1" = host ]; then
  case "$2" in
    approve | uninstall)
      if [ ! -r ${key} ]; then
        echo "svc: this host belongs to "${shellWord(user)}", so type: sudo -u "${shellWord(user)}" svc $*" >&2
        exit 1
      fi
      word=$2
      shift 2
      exec ${start} host "$word" ${own} "$@"
      ;;
  esac
fi
exec ${start} "$@"
`;
}

const isOurs = (path: string): boolean => {
  try {
    return readFileSync(path, 'utf8').includes(mark);
  } catch {
    return false;
  }
};

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/**
 * Writes the script, unless another `svc` is on the path, which stays the one that is meant; answers that other one, and whether
 * the script's folder is on the path. Throws `CommandError` when it cannot be written.
 */
export async function placeWrapper(
  to: string,
  wrapped: Wrapped,
  searched: string,
): Promise<{ other?: string; isOnPath: boolean }> {
  const folders = searched.split(delimiter).filter((folder) => folder !== '');
  const isOnPath = folders.includes(dirname(to));
  const candidates = [to, ...folders.map((folder) => join(folder, 'svc'))];
  const other = candidates.find((path) => isProgram(path) && !isOurs(path));
  if (other !== undefined) return { other, isOnPath };
  try {
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, wrapperText(wrapped));
    await chmod(to, 0o755);
  } catch (error) {
    throw new CommandError(`cannot write ${to}: ${errnoOf(error) ?? 'unknown error'}`);
  }
  return { isOnPath };
}

/** Takes the script away, if it is that of `placeWrapper`. */
export async function removeWrapper(path: string): Promise<void> {
  if (isOurs(path)) await rm(path, { force: true });
}
