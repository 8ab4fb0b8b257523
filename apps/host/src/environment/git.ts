import { type FSWatcher, watch } from 'node:fs';
import { type RelayReport, reportBounds } from '@svc/contract';
import { OpError } from '../failure.ts';
import { statusOf, worktreesOf } from '../ops/git.ts';
import { type FrozenRepository, type GitContext, openFrozen } from '../ops/git-frozen.ts';
import { locateExisting, type Places } from '../places.ts';

/** State of git, as it is reported. */
type GitState = NonNullable<RelayReport['git_state']>;

/** Follows the repository of a root. */
interface GitWatch {
  /** The state as it is now; null when the root is in no repository, or git cannot say. */
  look(root: string, places: Places): Promise<GitState | null>;
  close(): void;
}

/** How a repository is followed. */
interface GitWatchOptions extends Omit<GitContext, 'signal'> {
  /** Told at once when HEAD or the index changed: a commit, a checkout, a stage. */
  onChange: (what: 'HEAD' | 'index') => void;
}

/** Work trees beside the root's own are looked at in turn, so many at a time: each costs two processes. */
const othersAtOnce = 4;
/** A repository on a dead disk must not hold up the report. */
const lookMs = 8_000;

/** Makes the watch of a daemon; git runs with the frozen configuration, and takes no lock. */
export function watchGit(options: GitWatchOptions): GitWatch {
  let watching: { gitDir: string; watcher: FSWatcher } | undefined;
  /** Whether a work tree has changes, the one looked at longest ago first. */
  const others = new Map<string, boolean>();

  const close = () => {
    watching?.watcher.close();
    watching = undefined;
  };
  const follow = (gitDir: string) => {
    if (watching?.gitDir === gitDir) return;
    close();
    try {
      // The directory of the two files: git replaces a file by renaming another one over it, which ends a watch on it.
      const watcher = watch(gitDir, { persistent: false }, (_, name) => {
        if (name === 'HEAD' || name === 'index') options.onChange(name);
      });
      watcher.on('error', close);
      watching = { gitDir, watcher };
    } catch {
      // No watch left on this machine: the report of every 10 s shows it.
    }
  };
  return {
    close,
    async look(root, places) {
      const context: GitContext = { ...options, signal: AbortSignal.timeout(lookMs) };
      try {
        await using repository = await openFrozen(root, context);
        follow(repository.gitDir);
        return await stateOf(repository, { root, places, others, context });
      } catch {
        // Nor where its configuration cannot be written, on a full disk: the report of such a machine must come.
        return null;
      }
    },
  };
}

interface Look {
  root: string;
  places: Places;
  others: Map<string, boolean>;
  context: GitContext;
}

async function stateOf(repository: FrozenRepository, { root, places, others, context }: Look): Promise<GitState> {
  const { branch, dirty, ahead, behind } = await statusOf(repository);
  const inside: Awaited<ReturnType<typeof worktreesOf>> = [];
  for (const one of await worktreesOf(repository)) {
    if (inside.length < reportBounds.worktrees && (await isInside(one.path, places))) inside.push(one);
  }
  const isOwn = (path: string) => root === path || root.startsWith(`${path}/`);
  const paths = new Set(inside.map(({ path }) => path).filter((path) => !isOwn(path)));
  for (const path of others.keys()) if (!paths.has(path)) others.delete(path);
  const unseen = [...paths].filter((path) => !others.has(path));
  for (const path of [...unseen, ...others.keys()].slice(0, othersAtOnce)) {
    const isDirty = await dirtyAt(path, context);
    others.delete(path);
    others.set(path, isDirty);
  }
  const worktrees = inside.map(({ path, branch: own }) => ({
    path,
    branch: own,
    dirty: isOwn(path) ? dirty : (others.get(path) ?? false),
  }));
  return { branch, dirty, ahead: ahead ?? 0, behind: behind ?? 0, worktrees };
}

async function dirtyAt(path: string, context: GitContext): Promise<boolean> {
  try {
    await using repository = await openFrozen(path, context);
    return (await statusOf(repository)).dirty;
  } catch (error) {
    // Its directory is gone, and git has not noticed.
    if (error instanceof OpError) return false;
    throw error;
  }
}

/** A repository names its work trees, wherever it likes: git looks only at those inside of the roots. */
function isInside(path: string, places: Places): Promise<boolean> {
  return locateExisting(path, places).then(
    (real) => real === path,
    () => false,
  );
}
