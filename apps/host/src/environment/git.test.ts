import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createProcessGroups } from '../groups.ts';
import { temporaryDirectory, until } from '../testing.ts';
import { watchGit } from './git.ts';

const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main'];

async function setUp(t: TestContext) {
  const root = await temporaryDirectory(t);
  const scratch = await temporaryDirectory(t);
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', [...identity, ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
  const changes: string[] = [];
  const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: scratch };
  const watch = watchGit({
    groups: createProcessGroups(),
    scratch,
    environment,
    killAfterMs: 300,
    onChange: (what) => changes.push(what),
  });
  t.after(() => watch.close());
  const look = (at = root, roots = [root]) => watch.look(at, { roots, hidden: [] });
  return { root, git, look, changes };
}

test('branch, changes, distance from the upstream and work trees are those of the first root', async (t) => {
  const { root, git, look } = await setUp(t);
  const [origin, work, side] = ['origin', 'work', 'side'].map((name) => join(root, name)) as [string, string, string];
  assert.equal(await look(), null);
  git(root, 'init', '-q', origin);
  git(origin, 'commit', '-qm', 'first', '--allow-empty');
  git(root, 'clone', '-q', origin, work);
  git(origin, 'commit', '-qm', 'theirs', '--allow-empty');
  git(work, 'commit', '-qm', 'one', '--allow-empty');
  git(work, 'commit', '-qm', 'two', '--allow-empty');
  git(work, 'fetch', '-q');
  git(work, 'worktree', 'add', '-q', side, '-b', 'side');
  await writeFile(join(side, 'new'), '');
  assert.deepEqual(await look(work), {
    branch: 'main',
    dirty: false,
    ahead: 2,
    behind: 1,
    worktrees: [
      { path: work, branch: 'main', dirty: false },
      { path: side, branch: 'side', dirty: true },
    ],
  });
  await writeFile(join(work, 'new'), '');
  const outside = await look(work, [work]);
  assert.deepEqual([outside?.dirty, outside?.worktrees.map(({ path }) => path)], [true, [work]]);
});

test('a commit and a stage are told at once, git of the report itself is not', async (t) => {
  const { root, git, look, changes } = await setUp(t);
  git(root, 'init', '-q');
  await writeFile(join(root, 'a'), '1');
  git(root, 'add', 'a');
  git(root, 'commit', '-qm', 'a');
  await look();
  await look();
  assert.equal(changes.length, 0);
  await writeFile(join(root, 'b'), '1');
  git(root, 'add', 'b');
  await until(() => changes.includes('index'), 'the index changed');
  git(root, 'checkout', '-q', '-b', 'other');
  await until(() => changes.includes('HEAD'), 'HEAD changed');
  assert.equal((await look())?.branch, 'other');
});

test('nothing that a repository names is run', async (t) => {
  const { root, git, look } = await setUp(t);
  git(root, 'init', '-q');
  const mark = join(root, 'ran');
  await mkdir(join(root, '.git', 'hooks'), { recursive: true });
  git(root, 'config', 'core.fsmonitor', `touch ${mark}; false`);
  git(root, 'config', 'filter.x.clean', `touch ${mark}`);
  await writeFile(join(root, '.gitattributes'), '* filter=x\n');
  await writeFile(join(root, 'a'), '1');
  assert.equal((await look())?.dirty, true);
  assert.equal(existsSync(mark), false);
});
