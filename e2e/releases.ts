import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const git = (...args: string[]): string =>
  execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/** The commit before the newest one that added migrations, or why it cannot be run here. */
export function releaseBefore(): { commit: string } | { reason: string } {
  try {
    const [newest = ''] = git('log', '--diff-filter=A', '-1', '--format=%H', '--', 'apps/server/migrations').split(
      '\n',
    );
    const commit = git('rev-parse', '--verify', `${newest}^`).trim();
    const isSame = git('diff', '--name-only', commit, 'HEAD', '--', 'package-lock.json') === '';
    return isSame ? { commit } : { reason: 'the release before needs other packages than are installed' };
  } catch {
    return { reason: 'the history of this clone does not reach the release before' };
  }
}

/** Puts the files of a commit into a folder, as a clone that can be started with the packages of this one. */
export function cloneOf(commit: string, folder: string): string {
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1024 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return linked(folder);
}

/** The next release: the files of this clone as they are, with further migrations. */
export function nextRelease(folder: string, migrations: Readonly<Record<string, string>>): string {
  mkdirSync(folder);
  const options = [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '-z',
    'apps',
    'packages',
    'scripts',
    'deploy',
  ];
  const files = [...git(...options).split('\0'), 'svc', 'package.json', 'package-lock.json', 'tsconfig.json'];
  for (const file of files.filter((each) => each !== '' && existsSync(join(root, each)))) {
    cpSync(join(root, file), join(folder, file));
  }
  for (const [name, sql] of Object.entries(migrations)) {
    writeFileSync(join(folder, 'apps/server/migrations', `${name}.sql`), sql);
  }
  return linked(folder);
}

/** Gives a clone packages: links to those of this one, but for the workspace's own, which lead into the clone. */
function linked(folder: string): string {
  for (const workspace of ['.', 'apps/server', 'apps/host', 'apps/sandboxd']) {
    const [from, to] = [join(root, workspace, 'node_modules'), join(folder, workspace, 'node_modules')];
    if (!existsSync(from)) continue;
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) {
      if (name === '.cache' || name === '.package-lock.json' || name === '@svc') continue;
      symlinkSync(join(from, name), join(to, name));
    }
  }
  const own = join(folder, 'node_modules/@svc');
  mkdirSync(own);
  for (const name of readdirSync(join(root, 'node_modules/@svc')))
    symlinkSync(readlinkSync(join(root, 'node_modules/@svc', name)), join(own, name));
  // Newer than the lock file: what is installed is what it names.
  copyFileSync(join(root, 'node_modules/.package-lock.json'), join(folder, 'node_modules/.package-lock.json'));
  return join(folder, 'svc');
}
