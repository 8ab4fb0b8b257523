import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HostOpResult } from '@svc/contract';
import { contextOf, resultOf, temporaryDirectory } from '../testing.ts';

type State = HostOpResult<'git_state'>;

function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' }).trim();
}

async function repository(
  t: TestContext,
): Promise<{ root: string; repo: string; state: (path?: string) => Promise<State> }> {
  const root = await temporaryDirectory(t);
  const repo = join(root, 'repo');
  git(root, 'init', '-q', '-b', 'main', 'repo');
  await writeFile(join(repo, 'file'), 'one');
  git(repo, 'add', '.');
  git(repo, 'commit', '-qm', 'one');
  return { root, repo, state: (path = 'repo') => resultOf('git_state', { path }, contextOf(root)) };
}

test('branch, changes, distance from upstream and worktrees are told', async (t) => {
  const { root, repo, state } = await repository(t);
  git(root, 'clone', '-q', 'repo', 'clone');
  const clone = join(root, 'clone');
  const fresh = await state('clone');
  assert.deepEqual([fresh.branch, fresh.dirty, fresh.ahead, fresh.behind], ['main', false, 0, 0]);
  git(repo, 'commit', '-qm', 'theirs', '--allow-empty');
  git(clone, 'commit', '-qm', 'ours', '--allow-empty');
  git(clone, 'commit', '-qm', 'ours', '--allow-empty');
  git(clone, 'fetch', '-q');
  git(clone, 'worktree', 'add', '-q', '-b', 'topic', join(root, 'tree'));
  await mkdir(join(clone, 'below'));
  await writeFile(join(clone, 'below', 'new'), '');
  const now = await state('clone/below');
  assert.deepEqual([now.dirty, now.ahead, now.behind], [true, 2, 1]);
  const head = git(clone, 'rev-parse', 'HEAD');
  assert.deepEqual(now.worktrees, [
    { path: clone, branch: 'main', head },
    { path: join(root, 'tree'), branch: 'topic', head },
  ]);
});

test('a detached HEAD has no branch, a branch without upstream no distance, a new repository no head', async (t) => {
  const { root, repo, state } = await repository(t);
  assert.deepEqual([(await state()).ahead, (await state()).behind], [null, null]);
  git(repo, 'checkout', '-q', '--detach');
  assert.equal((await state()).branch, null);
  git(root, 'init', '-q', '-b', 'first', 'empty');
  const empty = await state('empty');
  assert.deepEqual([empty.branch, empty.dirty, empty.worktrees[0]?.head], ['first', false, null]);
});

test('a directory without a repository says so; one outside the roots tells nothing', async (t) => {
  const { root, state } = await repository(t);
  const outside = await temporaryDirectory(t);
  git(outside, 'init', '-q');
  await symlink(outside, join(root, 'link'));
  await assert.rejects(state('.'), { message: 'not_a_repository' });
  await assert.rejects(state('link'), { message: 'outside_roots' });
  await assert.rejects(state('repo/file'), { message: 'not_a_directory' });
});

/** Makes git look at the content of every file: same size, other time. */
async function touchAll(repo: string, ...files: string[]): Promise<void> {
  for (const file of files) await utimes(join(repo, file), 1, 1);
}

test('nothing that any configuration names is run: of the repository, its work tree, an include, the home, the environment', async (t) => {
  const { root, repo } = await repository(t);
  const ran = (trap: string) => join(root, `ran-${trap}`);
  const trap = (name: string) => `touch ${ran(name)}; cat`;
  const files = ['file', 'c', 'd', 'e', 'z'];
  for (const file of files) await writeFile(join(repo, file), 'one');
  await writeFile(
    join(repo, '.gitattributes'),
    'file filter=a diff=a\nz filter=b\nc filter=included\nd filter=of-home\ne filter=of-tree\n',
  );
  git(root, 'init', '-q', 'sub');
  git(join(root, 'sub'), 'commit', '-qm', 'sub', '--allow-empty');
  git(repo, 'submodule', '--quiet', 'add', join(root, 'sub'), 'sub');
  git(repo, 'add', '.');
  git(repo, 'commit', '-qm', 'two');
  const settings = {
    'core.fsmonitor': trap('fsmonitor'),
    'core.pager': trap('pager'),
    'core.sshCommand': trap('ssh'),
    'core.editor': trap('editor'),
    'alias.status': `!${trap('alias')}`,
    'credential.helper': `!${trap('credential')}`,
    'diff.external': trap('diff'),
    'diff.a.textconv': trap('textconv'),
    'status.submoduleSummary': 'true',
    'filter.a.clean': trap('clean'),
    'filter.b.process': trap('process'),
    'filter.b.required': 'true',
    'include.path': join(root, 'included'),
    'extensions.worktreeConfig': 'true',
  };
  for (const [name, value] of Object.entries(settings)) git(repo, 'config', name, value);
  git(repo, 'config', '--worktree', 'filter.of-tree.clean', trap('of-tree'));
  git(join(repo, 'sub'), 'config', 'core.fsmonitor', trap('submodule'));
  git(root, 'config', '--file', 'included', 'filter.included.clean', trap('included'));
  git(root, 'config', '--file', '.gitconfig', 'filter.of-home.clean', trap('of-home'));
  const of = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: root, GIT_EDITOR: 'false' };
  const inherited = {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.fsmonitor',
    GIT_CONFIG_VALUE_0: trap('environment'),
  };
  await touchAll(repo, ...files);
  const context = contextOf(root, { environment: { ...of, ...inherited } });
  const state = await resultOf('git_state', { path: 'repo' }, context);
  assert.deepEqual([state.branch, state.dirty], ['main', false]);
  const found = async () => (await readdir(root)).filter((name) => name.startsWith('ran-')).toSorted();
  assert.deepEqual(await found(), []);
  // The proof that the traps work; the process that fails its protocol ends git before it comes to the submodule.
  const status = () => spawnSync('git', ['--no-optional-locks', 'status'], { cwd: repo, env: of });
  status();
  git(repo, 'config', '--remove-section', 'filter.b');
  status();
  const met = ['clean', 'fsmonitor', 'included', 'of-home', 'of-tree', 'process', 'submodule'];
  assert.deepEqual(
    await found(),
    met.map((name) => `ran-${name}`),
  );
});

test('a configuration that is written while git looks is not followed, wherever it is written', async (t) => {
  const { root, repo } = await repository(t);
  await writeFile(join(repo, '.gitattributes'), 'file filter=late\n');
  git(repo, 'add', '.');
  git(repo, 'commit', '-qm', 'two');
  await rename(join(repo, '.git'), join(root, 'elsewhere'));
  await writeFile(join(repo, '.git'), `gitdir: ${join(root, 'elsewhere')}\n`);
  const late = `[filter "late"]\n\tclean = touch ${join(root, 'ran')}; cat\n\trequired = true\n[core]\n\tfsmonitor = touch ${join(root, 'ran')}\n`;
  await writeFile(join(root, 'late'), late);
  // A git that has the settings written once its first step, which may look for them, is over.
  const tools = join(root, 'tools');
  await mkdir(tools);
  const places = [
    join(root, 'elsewhere', 'config'),
    join(root, '.gitconfig'),
    join(root, 'elsewhere', 'config.worktree'),
  ];
  const script = `#!/bin/sh\nif [ -e ${root}/begun ]; then for at in ${places.join(' ')}; do cat ${root}/late >> $at; done; fi\ntouch ${root}/begun\nPATH=/usr/local/bin:/usr/bin:/bin exec git "$@"\n`;
  await writeFile(join(tools, 'git'), script, { mode: 0o755 });
  await touchAll(repo, 'file');
  const environment = { PATH: `${tools}:/usr/local/bin:/usr/bin:/bin`, HOME: root };
  const state = await resultOf('git_state', { path: 'repo' }, contextOf(root, { environment }));
  assert.deepEqual([state.branch, state.dirty, state.worktrees.length], ['main', false, 1]);
  assert.equal(existsSync(join(root, 'ran')), false);
  spawnSync('git', ['status'], { cwd: repo, env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: root } });
  assert.equal(existsSync(join(root, 'ran')), true, 'the trap works');
});

test('settings that are only data count: ignored files of the home, file modes, the tracked branch by any name', async (t) => {
  const { root, repo, state } = await repository(t);
  await mkdir(join(root, '.config/git'), { recursive: true });
  await writeFile(join(root, '.config/git/ignore'), '*.tmp\n');
  await writeFile(join(repo, 'x.tmp'), '');
  assert.equal((await state()).dirty, false);
  await writeFile(join(root, '.own'), '*.bak\n');
  git(root, 'config', '--file', '.gitconfig', 'core.excludesFile', '~/.own');
  assert.equal((await state()).dirty, true);
  await rename(join(repo, 'x.tmp'), join(repo, 'x.bak'));
  assert.equal((await state()).dirty, false);
  await chmod(join(repo, 'file'), 0o755);
  assert.equal((await state()).dirty, true);
  git(repo, 'config', 'core.fileMode', 'false');
  assert.equal((await state()).dirty, false);
  git(root, 'clone', '-q', 'repo', 'clone');
  const odd = 'a"b';
  git(join(root, 'clone'), 'checkout', '-q', '-b', odd, '--track', 'origin/main');
  git(join(root, 'clone'), 'commit', '-qm', 'more', '--allow-empty');
  const { branch, ahead, behind } = await state('clone');
  assert.deepEqual([branch, ahead, behind], [odd, 1, 0]);
  const scratch = join(root, 'scratch');
  await mkdir(scratch);
  await resultOf('git_state', { path: 'clone' }, contextOf(root, { scratch }));
  assert.deepEqual(await readdir(scratch), [], 'nothing is left');
});

test('a repository of SHA-256, and one whose repository is elsewhere, are read alike', async (t) => {
  const { root, state } = await repository(t);
  git(root, 'init', '-q', '--object-format=sha256', '-b', 'long', 'sha256');
  git(join(root, 'sha256'), 'commit', '-qm', 'one', '--allow-empty');
  const long = await state('sha256');
  assert.deepEqual([long.branch, long.worktrees[0]?.head?.length], ['long', 64]);
  git(root, 'init', '-q', '-b', 'apart', '--separate-git-dir', join(root, 'store'), 'apart');
  await mkdir(join(root, 'apart/deep/.git'), { recursive: true });
  assert.equal((await state('apart/deep')).branch, 'apart');
});

test('a partial clone fetches nothing, by whatever command its configuration names', async (t) => {
  const { root, repo, state } = await repository(t);
  const ran = join(root, 'ran');
  git(repo, 'config', 'core.repositoryformatversion', '1');
  git(repo, 'config', 'extensions.partialClone', 'origin');
  git(repo, 'config', 'remote.origin.promisor', 'true');
  git(repo, 'config', 'remote.origin.url', `ext::touch ${ran}`);
  git(repo, 'config', 'protocol.ext.allow', 'always');
  const tree = git(repo, 'rev-parse', 'HEAD^{tree}');
  await rm(join(repo, '.git', 'objects', tree.slice(0, 2), tree.slice(2)));
  await assert.rejects(state(), { message: /^git_failed: / });
  assert.equal(existsSync(ran), false);
  spawnSync('git', ['status'], { cwd: repo });
  assert.equal(existsSync(ran), true);
});
