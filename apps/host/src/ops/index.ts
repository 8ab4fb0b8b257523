import { readFile, statFile } from './files.ts';
import { gitState } from './git.ts';
import { info } from './info.ts';
import { listDirectory } from './list.ts';
import type { OpName } from './names.ts';
import type { Op } from './op.ts';
import { shell } from './shell.ts';
import { writeFile } from './write.ts';

/** Every operation by the name it has in a frame. */
export const ops: Readonly<Record<OpName, Op>> = {
  shell,
  read_file: readFile,
  write_file: writeFile,
  list_dir: listDirectory,
  stat: statFile,
  git_state: gitState,
  info,
};
