import { stat } from 'node:fs/promises';
import type { HostOpResult } from '@svc/contract';
import { OpError } from '../failure.ts';
import { locateExisting } from '../places.ts';
import { type FrozenRepository, openFrozen } from './git-frozen.ts';
import { defineOp } from './op.ts';

type State = HostOpResult<'git_state'>;

/** `git_state`: takes no lock and runs nothing that any configuration names. */
export const gitState = defineOp('git_state', async (args, context) => {
  const cwd = await locateExisting(args.path, context.places);
  if (!(await stat(cwd)).isDirectory()) throw new OpError('not_a_directory');
  await using repository = await openFrozen(cwd, context);
  const [status, worktrees] = await Promise.all([statusOf(repository), worktreesOf(repository)]);
  return { ...status, worktrees };
});

/** Branch and changes of the work tree that `repository` was opened at. */
export async function statusOf(repository: FrozenRepository): Promise<Omit<State, 'worktrees'>> {
  return parseStatus(
    await repository.git([
      'status',
      '--porcelain=v2',
      '--branch',
      '-z',
      '--no-renames',
      // Looking into a submodule would run git there, with that repository's configuration.
      '--ignore-submodules=dirty',
    ]),
  );
}

/** All work trees of a repository, the main one first. */
export async function worktreesOf(repository: FrozenRepository): Promise<State['worktrees']> {
  const [main, ...others] = parseWorktrees(await repository.git(['worktree', 'list', '--porcelain', '-z']));
  return main ? [{ ...main, path: repository.mainPath }, ...others] : [];
}

/** `git status --porcelain=v2 --branch -z`: headers start with `#`, every other entry is a change. */
function parseStatus(text: string): Omit<State, 'worktrees'> {
  const entries = text.split('\0').filter((entry) => entry !== '');
  const header = (name: string) =>
    entries.find((entry) => entry.startsWith(`# branch.${name} `))?.slice(`# branch.${name} `.length);
  const branch = header('head');
  const [, ahead, behind] = /^\+(\d+) -(\d+)$/.exec(header('ab') ?? '') ?? [];
  return {
    branch: branch === undefined || branch === '(detached)' ? null : branch,
    dirty: entries.some((entry) => !entry.startsWith('# ')),
    ahead: ahead === undefined ? null : Number(ahead),
    behind: behind === undefined ? null : Number(behind),
  };
}

/** `git worktree list --porcelain -z`: attributes end with NUL, records with an empty one. */
function parseWorktrees(text: string): State['worktrees'] {
  return text
    .split('\0\0')
    .filter((record) => record !== '')
    .map((record) => {
      const attributes = new Map(
        record.split('\0').map((line) => {
          const space = line.indexOf(' ');
          return space === -1 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
        }),
      );
      const head = attributes.get('HEAD');
      return {
        path: attributes.get('worktree') ?? '',
        branch: attributes.get('branch')?.replace(/^refs\/heads\//, '') ?? null,
        head: head === undefined || /^0+$/.test(head) ? null : head,
      };
    });
}
