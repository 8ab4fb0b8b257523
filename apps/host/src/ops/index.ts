import type { HostOp } from '@svc/contract';
import { readFile, statFile } from './files.ts';
import { gitState } from './git.ts';
import { info } from './info.ts';
import { listDirectory } from './list.ts';
import type { Op } from './op.ts';
import { shell } from './shell.ts';
import { writeFile } from './write.ts';

/** Every operation by the name it has in a frame. */
export const ops: Readonly<{ [N in HostOp]: Op<N> }> = {
  shell,
  read_file: readFile,
  write_file: writeFile,
  list_dir: listDirectory,
  stat: statFile,
  git_state: gitState,
  info,
};

/** True for the name of an operation that this daemon serves. */
export function isServed(name: string): name is HostOp {
  return Object.hasOwn(ops, name);
}
