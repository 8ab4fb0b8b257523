import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { contract, type Route } from '../../packages/contract/src/index.ts';
import { manifests } from '../../apps/server/src/features.ts';
import type { Source } from './source.ts';
import type { Stateful } from './states.ts';

export const root = resolve(import.meta.dirname, '../..');

/** Features and verbs of the contract. */
export const verbs: Record<string, string[]> = Object.fromEntries(
  Object.entries(contract).map(([feature, routes]) => [feature, Object.keys(routes)]),
);

/** URLs of the contract by `operationId`. */
export const paths: Record<string, string> = Object.fromEntries(
  Object.entries(contract).flatMap(([feature, routes]) =>
    Object.entries(routes as Record<string, Route>).map(([verb, { path }]) => [`${feature}.${verb}`, path]),
  ),
);

/** Releases that were made, as the changelog names them. */
export const releases: string[] = [
  ...readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(/^## (\d+\.\d+\.\d+)/gm),
].map(([, release = '']) => release);

/** The state machines of all features. */
export const machines: Stateful[] = manifests.flatMap(({ machines: own = [] }) =>
  own.map(({ table, states }) => ({ table, states: states.names })),
);

/** Files of the work tree that git does not ignore, those that it does not know yet included. */
const filesOf = (...patterns: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter(Boolean);

/** Files that package.json files name. */
export const entries: ReadonlySet<string> = new Set(
  filesOf('apps/*/package.json').flatMap((path) => {
    const { exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as {
      exports?: Record<string, string>;
    };
    return Object.values(exports).map((entry) => join(dirname(path), entry));
  }),
);

/** The object ids of migrations as they were when they were committed first, by path; none where nothing was committed yet. */
export function firstMigrations(): Map<string, string> {
  const log = ['log', '--raw', '--no-abbrev', '--diff-filter=A', '--format=', '--', 'apps/server/migrations'];
  const { status, stdout } = spawnSync('git', log, { cwd: root, encoding: 'utf8' });
  const lines = status === 0 ? stdout.split('\n').filter(Boolean) : [];
  // The newest comes first: of one that came back, what it was in the beginning stays.
  return new Map(lines.map((line) => [line.split('\t')[1] ?? '', line.split(' ')[3] ?? '']));
}

/** The repository's sources, those that git does not know yet included. */
export function readSources(): Source[] {
  const patterns = [
    'apps/**/*.ts',
    'apps/**/*.tsx',
    'packages/**/*.ts',
    'bench/*.ts',
    'e2e/*.ts',
    'scripts/*.ts',
    ':!scripts/example/files',
    'apps/server/migrations/*.sql',
    'apps/server/src/features/**/*.md',
  ];
  return filesOf(...patterns).flatMap((path) => {
    try {
      return [{ path, text: readFileSync(join(root, path), 'utf8') }];
    } catch {
      // Deleted and not committed yet.
      return [];
    }
  });
}
