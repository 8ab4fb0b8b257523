import { constants } from 'node:fs';
import { mkdtemp, open, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errnoOf, OpError } from '../failure.ts';
import { type GroupResult, runGroup } from '../groups.ts';
import type { OpContext } from './op.ts';

/** A repository that git looks at with settings of ours: what its own configuration becomes meanwhile changes nothing. */
export interface FrozenRepository extends AsyncDisposable {
  /** Where git says that the main work tree is. */
  mainPath: string;
  /** Where HEAD and index of this work tree are. */
  gitDir: string;
  /** Runs git on it; throws `OpError` when it fails. */
  git(args: readonly string[]): Promise<string>;
}

/** The parts of an operation's context that git runs with. */
export type GitContext = Pick<OpContext, 'signal' | 'groups' | 'scratch' | 'environment' | 'killAfterMs'>;

/** Where a repository's parts are. */
interface Parts {
  workTree: string;
  gitDir: string;
  /** Of all work trees together: objects, refs, configuration. */
  commonDir: string;
}

/** Longer than any of the one-line files that say where a repository is. */
const mostPointer = 16_384;
/** Entries of the common directory that are linked beside git's configuration. */
const shared = ['HEAD', 'objects', 'refs', 'packed-refs', 'info', 'shallow', 'worktrees', 'reftable'];
/** Settings that are only data: none names a program, and none of those that do is copied. */
const harmless =
  /^(core\.(filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|excludesfile|attributesfile|trustctime|checkstat|sparsecheckout|sparsecheckoutcone)|index\.sparse|status\.showuntrackedfiles|extensions\.(objectformat|refstorage)|branch\..+\.(remote|merge)|remote\..+\.fetch)$/s;

/**
 * Opens the repository that `cwd` is in. Git gets a configuration in a directory of the daemon's own, made of those of its
 * settings that are only data, beside links to its objects and refs. So nothing that the repository or the user's home names
 * is run: no filter, hook, file system monitor, pager, credential helper or alias, also when someone writes it there now.
 */
export async function openFrozen(cwd: string, context: GitContext): Promise<FrozenRepository> {
  const parts = await findRepository(cwd);
  const directory = await mkdtemp(join(context.scratch, 'git-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    // Reads files and runs nothing. Includes are left out: a repository's would lead anywhere.
    const list = ['config', '--no-includes', '--null', '--list'];
    const settings = await runGit(context, directory, { GIT_DIR: parts.gitDir, ...homeOf(context) }, list);
    if (settings.stdout.cut) throw new OpError('git_failed: configuration too long');
    for (const name of shared) await symlink(join(parts.commonDir, name), join(directory, name));
    await writeFile(join(directory, 'config'), frozenConfig(textOf(settings), context), { mode: 0o600 });
  } catch (error) {
    await remove();
    throw error;
  }
  const environment = {
    GIT_DIR: parts.gitDir,
    GIT_COMMON_DIR: directory,
    GIT_WORK_TREE: parts.workTree,
    GIT_CONFIG_GLOBAL: '/dev/null',
    // Versions before 2.32 do not know the one above, and look here.
    HOME: directory,
    XDG_CONFIG_HOME: directory,
  };
  return {
    mainPath: parts.commonDir.replace(/\/\.git$/, '') || '/',
    gitDir: parts.gitDir,
    git: async (args) => textOf(await runGit(context, directory, environment, args)),
    [Symbol.asyncDispose]: remove,
  };
}

async function runGit(
  context: GitContext,
  cwd: string,
  environment: Record<string, string>,
  args: readonly string[],
): Promise<GroupResult> {
  // A daemon started from a hook would otherwise look at that hook's repository.
  const inherited = Object.entries(context.environment).filter(([name]) => !name.startsWith('GIT_'));
  const quiet = { GIT_CONFIG_NOSYSTEM: '1', GIT_TRACE2: '0', GIT_TRACE2_EVENT: '0', GIT_TRACE2_PERF: '0' };
  // The last two: a partial clone would fetch what it lacks, by a command that its configuration names.
  const own = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' };
  try {
    const result = await runGroup({
      file: 'git',
      args: ['--no-pager', ...args],
      cwd,
      env: { ...Object.fromEntries(inherited), ...quiet, ...own, LC_ALL: 'C', ...environment },
      signal: context.signal,
      keepBytes: 1024 * 1024,
      killAfterMs: context.killAfterMs,
      groups: context.groups,
    });
    if (result.ended) throw new OpError(String(context.signal.reason));
    if (result.code !== 0) throw gitError(result);
    return result;
  } catch (error) {
    throw errnoOf(error) === 'ENOENT' ? new OpError('git_missing') : error;
  }
}

const textOf = (result: GroupResult): string => result.stdout.bytes.toString('utf8');

function gitError(result: GroupResult): OpError {
  const message = result.stderr.bytes.toString('utf8');
  if (/not a git repository|must be run in a work tree/.test(message)) return new OpError('not_a_repository');
  return new OpError(`git_failed: ${message.trim().split('\n')[0]?.slice(0, 300) || `exit code ${result.code}`}`);
}

/** Looks for `.git` in the directory and above it, as git does. */
async function findRepository(cwd: string): Promise<Parts> {
  for (let workTree = cwd; ; workTree = dirname(workTree)) {
    const gitDir = await gitDirOf(workTree);
    if (gitDir !== undefined) {
      const common = await readPointer(join(gitDir, 'commondir'));
      return { workTree, gitDir, commonDir: common === undefined ? gitDir : resolve(gitDir, common) };
    }
    if (workTree === '/') throw new OpError('not_a_repository');
  }
}

async function gitDirOf(workTree: string): Promise<string | undefined> {
  const path = join(workTree, '.git');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) {
    // Git, too, goes on above a directory of that name that is no repository.
    return (await stat(join(path, 'HEAD')).catch(() => undefined)) && path;
  }
  const pointer = found && /^gitdir: (.+)$/s.exec((await readPointer(path)) ?? '')?.[1];
  return pointer === undefined ? undefined : resolve(workTree, pointer);
}

/** The line of a small file; undefined when it cannot be read. */
async function readPointer(path: string): Promise<string | undefined> {
  try {
    // Without waiting for a writer, should it be a FIFO.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostPointer));
    return buffer.toString('utf8', 0, bytesRead).replace(/[\r\n]+$/, '');
  } catch {
    return undefined;
  }
}

const homeOf = ({ environment }: GitContext): Record<string, string> =>
  environment['HOME'] === undefined ? {} : { HOME: environment['HOME'] };

/** The configuration file that git gets; `listed` is `git config --null --list`: name, line end, value, NUL. */
function frozenConfig(listed: string, context: GitContext): string {
  const home = context.environment['HOME'] ?? '/';
  const userDir = join(context.environment['XDG_CONFIG_HOME'] || join(home, '.config'), 'git');
  const settings: [string, string][] = [
    // Where git would look by itself if its home were the user's.
    ['core.excludesfile', join(userDir, 'ignore')],
    ['core.attributesfile', join(userDir, 'attributes')],
  ];
  for (const entry of listed.split('\0')) {
    const [, name = '', value = 'true'] = /^([^\n]+)(?:\n(.*))?$/s.exec(entry) ?? [];
    if (harmless.test(name)) settings.push([name, value.startsWith('~/') ? join(home, value.slice(2)) : value]);
  }
  const version = settings.some(([name]) => name.startsWith('extensions.')) ? '1' : '0';
  const ours: [string, string][] = [
    ['core.repositoryformatversion', version],
    ['core.bare', 'false'],
    ['core.fsmonitor', 'false'],
    ['core.hookspath', '/dev/null'],
  ];
  return [...settings, ...ours].map(([name, value]) => settingText(name, value)).join('');
}

/** One setting as a section of its own; names of sections come from git and hold no line end. */
function settingText(name: string, value: string): string {
  const [first, last] = [name.indexOf('.'), name.lastIndexOf('.')];
  const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  const section =
    first === last ? name.slice(0, first) : `${name.slice(0, first)} ${quoted(name.slice(first + 1, last))}`;
  return `[${section}]\n\t${name.slice(last + 1)} = ${quoted(value)}\n`;
}
