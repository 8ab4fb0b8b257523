import { OpError } from '../failure.ts';
import { type GitContext, openFrozen } from '../ops/git-frozen.ts';

/** State of a repository, as a report tells it. */
interface GitState {
  branch: string | null;
  dirty: boolean;
  ahead: number;
  behind: number;
  worktrees: { path: string; branch: string | null; dirty: boolean }[];
}

const mostWorktrees = 32;

/** State of the repository that a directory is in; null where there is none, or git cannot look at it. */
export async function gitStateOf(root: string, context: GitContext): Promise<GitState | null> {
  try {
    await using repository = await openFrozen(root, context);
    const status = await repository.git(['status', '--porcelain=v2', '--branch', '--untracked-files=normal']);
    const listed = await repository.git(['worktree', 'list', '--porcelain']).catch(() => '');
    const own = parseStatus(status);
    const worktrees = parseWorktrees(listed, repository.mainPath).slice(0, mostWorktrees);
    return {
      ...own,
      // Whether another one is dirty would need a look into each: ours is known, theirs are told as clean.
      worktrees: worktrees.map((one) => ({ ...one, dirty: one.branch === own.branch && own.dirty })),
    };
  } catch (error) {
    if (error instanceof OpError) return null;
    throw error;
  }
}

/** What `git status --porcelain=v2 --branch` prints. */
function parseStatus(text: string): Omit<GitState, 'worktrees'> {
  const lines = text.split('\n').filter((line) => line !== '');
  const header = (name: string) =>
    lines.find((line) => line.startsWith(`# branch.${name} `))?.slice(`# branch.${name} `.length);
  const head = header('head');
  const [, ahead = '0', behind = '0'] = /^\+(\d+) -(\d+)$/.exec(header('ab') ?? '') ?? [];
  return {
    branch: head === undefined || head === '(detached)' ? null : head.slice(0, 300),
    dirty: lines.some((line) => !line.startsWith('# ')),
    ahead: Number(ahead),
    behind: Number(behind),
  };
}

/** What `git worktree list --porcelain` prints: a block for each, the main one first, which git takes for our copy. */
function parseWorktrees(text: string, mainPath: string): { path: string; branch: string | null }[] {
  return text.split('\n\n').flatMap((block, at) => {
    const listed = /^worktree (.*)$/m.exec(block)?.[1];
    const path = listed !== undefined && at === 0 ? mainPath : listed;
    if (path === undefined || path.length > 1_000) return [];
    return [{ path, branch: /^branch refs\/heads\/(.*)$/m.exec(block)?.[1]?.slice(0, 300) ?? null }];
  });
}
