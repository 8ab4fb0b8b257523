import { stat } from 'node:fs/promises';
import type { HostOpResult } from '@svc/contract';
import { errnoOf, OpError } from '../failure.ts';
import { type GroupResult, runGroup } from '../groups.ts';
import { locateExisting } from '../places.ts';
import { defineOp, type OpContext } from './op.ts';

type State = HostOpResult<'git_state'>;

/** `git_state`: takes no lock and runs nothing that the repository's own configuration names. */
export const gitState = defineOp('git_state', async (args, context) => {
  const cwd = await locateExisting(args.path, context.places);
  if (!(await stat(cwd)).isDirectory()) throw new OpError('not_a_directory');
  const safe = await withoutFilters(cwd, context);
  const [status, worktrees] = await Promise.all([
    git(cwd, context, [
      ...safe,
      'status',
      '--porcelain=v2',
      '--branch',
      '-z',
      '--no-renames',
      // Looking into a submodule would run git there, with that repository's configuration.
      '--ignore-submodules=dirty',
    ]),
    git(cwd, context, ['worktree', 'list', '--porcelain', '-z']),
  ]);
  return { ...parseStatus(status), worktrees: parseWorktrees(worktrees) };
});

/** Settings that turn off the filters a repository defines for itself: `status` would run them. */
async function withoutFilters(cwd: string, context: OpContext): Promise<string[]> {
  const listed = await runGit(cwd, context, ['config', '--show-scope', '--null', '--name-only', '--list']);
  if (listed.code !== 0) throw gitError(listed);
  if (listed.stdout.cut) throw new OpError('git_failed: configuration too long');
  const fields = listed.stdout.bytes.toString('utf8').split('\0');
  const drivers = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const driver = /^filter\.(.+)\.[^.]+$/s.exec(fields[at + 1] ?? '')?.[1];
    if (driver !== undefined && (fields[at] === 'local' || fields[at] === 'worktree')) drivers.add(driver);
  }
  // `-c` ends the name at the first `=`.
  if ([...drivers].some((driver) => driver.includes('='))) throw new OpError('git_failed: filter with = in its name');
  return [...drivers].flatMap((driver) =>
    ['process=', 'clean=', 'required=false'].flatMap((setting) => ['-c', `filter.${driver}.${setting}`]),
  );
}

async function git(cwd: string, context: OpContext, args: readonly string[]): Promise<string> {
  const result = await runGit(cwd, context, args);
  if (result.code !== 0) throw gitError(result);
  return result.stdout.bytes.toString('utf8');
}

async function runGit(cwd: string, context: OpContext, args: readonly string[]): Promise<GroupResult> {
  // A daemon started from a hook would otherwise look at that hook's repository.
  const inherited = Object.entries(context.environment).filter(([name]) => !name.startsWith('GIT_'));
  // The last two: a partial clone would fetch what it lacks, by a command that its configuration names.
  const own = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' };
  try {
    const result = await runGroup({
      file: 'git',
      args: ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', ...args],
      cwd,
      env: { ...Object.fromEntries(inherited), ...own, LC_ALL: 'C' },
      signal: context.signal,
      keepBytes: 1024 * 1024,
      killAfterMs: context.killAfterMs,
      groups: context.groups,
    });
    if (result.ended) throw new OpError(String(context.signal.reason));
    return result;
  } catch (error) {
    throw errnoOf(error) === 'ENOENT' ? new OpError('git_missing') : error;
  }
}

function gitError(result: GroupResult): OpError {
  const message = result.stderr.bytes.toString('utf8');
  if (/not a git repository|must be run in a work tree/.test(message)) return new OpError('not_a_repository');
  return new OpError(`git_failed: ${message.trim().split('\n')[0]?.slice(0, 300) || `exit code ${result.code}`}`);
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
