import { execFileSync, spawnSync } from 'node:child_process';
import { featureOf } from '../rules/source.ts';
import { reachOf } from './lanes.ts';
import { reachSince } from './reach.ts';

/** Test files that a change asks for, and what the run says of the choice. */
interface Chosen {
  readonly files: readonly string[];
  readonly why: string;
}

/** A change of one of these reaches every test. */
const ofAll = [
  /^package(-lock)?\.json$/,
  /^scripts\/(test|test-node|node|install)/,
  /^apps\/server\/src\/(testing|config|resources|app)(\.\w+)*\.ts$/,
  /^apps\/server\/src\/kernel\//,
  /^apps\/server\/migrations\/\S*\.kernel\./,
];
/** A whole program's or a page's test is of this area when its name has this word. */
const wordsOf: readonly [RegExp, readonly string[]][] = [
  [/^apps\/host\//, ['apps/host/', 'e2e/environments.', 'e2e/execs', 'e2e/login', 'features/hosts/']],
  [/^apps\/sandboxd\//, ['apps/sandboxd/', 'e2e/sandboxes', 'e2e/escapes', 'features/sandboxes/']],
  [/^apps\/hub\//, ['apps/hub/', 'features/hub/']],
  [/^apps\/server\/src\/(root|postgres)\//, ['e2e/root', 'e2e/starts', 'e2e/platform', 'e2e/install']],
  [/^apps\/server\/src\/backup\//, ['e2e/backup', 'src/backup/']],
  [/^packages\/contract\//, ['src/contract', 'src/examples', 'e2e/clients/', 'packages/contract/']],
  [/^packages\/sdk/, ['packages/sdk', 'src/sdk', 'e2e/clients/']],
  [/^docs\/|\.md$/, ['scripts/']],
];

/** Paths that differ from a commit, those that git does not know yet among them. */
export function changedSince(root: string, ref: string): string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  const tracked = git('diff', '--name-only', '-z', ref, '--');
  return [...new Set([...tracked, ...git('ls-files', '--others', '--exclude-standard', '-z')])].sort();
}

/** A help before a commit is over in five minutes: two processors have so many seconds until then. */
const mostSeconds = 500;

/**
 * Chooses the files whose tests a change since a commit reaches. Of a source that a recorded run (`npm test --
 * --reach`) knows:
 * those that ran the functions which changed. Of others: those beside it, those that import it, and the whole
 * programs and pages of its area.
 * The nearest and cheapest first, as many as `mostSeconds` allow: the whole suite alone says that all is well.
 */
export function testsOf(
  root: string,
  changed: readonly string[],
  files: readonly string[],
  { ref = 'HEAD', secondsOf = () => 0 }: { ref?: string; secondsOf?: (file: string) => number } = {},
): Chosen {
  const general = changed.find((path) => ofAll.some((pattern) => pattern.test(path)));
  const recorded = reachSince(root, ref);
  const importers = importersOf(root, files);
  const reached = new Set([...changed, ...changed.flatMap((path) => usersOf(root, path))]);
  const beside = new Set([...reached].flatMap((path) => [...(importers.get(path) ?? []), ...near(path, files)]));
  const known = changed.map((path) => ({ path, tests: recorded(path) }));
  const ran = new Set(known.flatMap(({ tests }) => tests ?? []));
  const isUnknown = general !== undefined && known.some(({ path, tests }) => path === general && tests === undefined);
  const wanted = isUnknown ? files : files.filter((file) => ran.has(file) || beside.has(file));
  const rank = (file: string): number => (beside.has(file) ? 0 : 1) + (ran.has(file) || ran.size === 0 ? 0 : 1);
  const order = wanted.toSorted((a, b) => rank(a) - rank(b) || secondsOf(a) - secondsOf(b));
  let left = mostSeconds;
  const chosen = new Set(order.filter((file) => (left -= secondsOf(file)) >= 0 || rank(file) === 0));
  const more = wanted.length - chosen.size;
  return {
    files: files.filter((file) => chosen.has(file)),
    why: [
      `${chosen.size} of ${files.length} files for ${changed.length} changed paths`,
      ran.size > 0
        ? 'by the functions that they ran'
        : 'by folder, imports and area, as `--reach` has recorded nothing of them',
      ...(more > 0 ? [`${more} more reach it, which would take too long here`] : []),
      'a help before a commit, not the proof',
    ].join('; '),
  };
}

/** Test files by what they import: themselves, their helpers' imports, and one step further. */
function importersOf(root: string, files: readonly string[]): Map<string, string[]> {
  const direct = reachOf(root, 2);
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const path of [file, ...direct(file)]) importers.set(path, [...(importers.get(path) ?? []), file]);
  }
  return importers;
}

/** Sources that import the package of a path by its name. */
function usersOf(root: string, path: string): string[] {
  const [, name] = /^packages\/([^/]+)\/src\//.exec(path) ?? [];
  if (name === undefined) return [];
  const options = ['grep', '-lE', `'@svc/${name}['/]`, '--', '*.ts', '*.tsx'];
  const { stdout } = spawnSync('git', options, { cwd: root, encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean);
}

function near(path: string, files: readonly string[]): string[] {
  const feature = featureOf(path) ?? /^apps\/server\/migrations\/\S*?\.(\w+)\./.exec(path)?.[1];
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const words = [
    ...(folder === '' || folder === 'e2e/' ? [] : [folder]),
    ...(feature === undefined ? [] : [`features/${feature}/`, `e2e/${feature}.`, `features/hub/hub.${feature}.`]),
    ...wordsOf.flatMap(([pattern, list]) => (pattern.test(path) ? list : [])),
  ];
  return files.filter((file) => words.some((word) => file.startsWith(word) || file.includes(`/${word}`)));
}
