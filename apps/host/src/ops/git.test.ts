import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
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

test("nothing that the repository's configuration names is run", async (t) => {
  const { root, repo, state } = await repository(t);
  const ran = (trap: string) => join(root, `ran-${trap}`);
  const trap = (name: string) => `touch ${ran(name)}; cat`;
  await writeFile(join(repo, 'other'), 'two');
  await writeFile(join(repo, '.gitattributes'), 'file filter=a\nother filter=b\n');
  git(repo, 'add', '.');
  git(repo, 'commit', '-qm', 'two');
  git(repo, 'config', 'core.fsmonitor', trap('fsmonitor'));
  git(repo, 'config', 'filter.a.clean', trap('clean'));
  git(repo, 'config', 'filter.b.process', trap('process'));
  git(repo, 'config', 'filter.b.required', 'true');
  // Same size, other time: git has to look at the content, through the filter.
  for (const file of ['file', 'other']) await utimes(join(repo, file), 1, 1);
  assert.deepEqual([(await state()).branch, (await state()).dirty], ['main', false]);
  const traps = ['fsmonitor', 'clean', 'process'];
  assert.deepEqual(
    traps.map((name) => existsSync(ran(name))),
    [false, false, false],
  );
  // The proof that the traps work.
  spawnSync('git', ['--no-optional-locks', 'status'], { cwd: repo });
  assert.deepEqual(
    traps.map((name) => existsSync(ran(name))),
    [true, true, true],
  );
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
