import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../rules/source.ts';

/** Test files of one process. */
interface Load {
  readonly files: readonly string[];
  /** Whether one of them needs the sandbox node of the run, or its images. */
  readonly needsNode: boolean;
}

/** Which files run where. */
interface Lanes {
  /** One after the other in one process a list, where a file costs nothing to start. */
  readonly inside: readonly Load[];
  /** Each in a process of its own: tests of whole programs, and in a browser. The longest are the first. */
  readonly outside: readonly Load[];
}

/** A test that imports one of these needs the node or its images. */
const sandboxHelpers = new Set([
  'apps/server/src/features/sandboxes/sandboxes.testing.ts',
  'apps/sandboxd/src/testing.ts',
  'e2e/sandboxes.ts',
]);
/** Starts a node agent for each file. */
const ownNode = 'apps/sandboxd/src/testing.ts';

/** Two minutes and more: begun late, one lane would still run them when the others have ended. */
const longest = [
  'platform',
  'attacks',
  'scheduler',
  'environments.network',
  'environments.kill',
  'afternoon',
  'escapes',
  'overlaps',
  'looking',
  'torture/torture',
  'hub.account.browser',
  'hub.browser',
  'hub.environments.browser',
  'hub.sandboxes.browser',
  'hub.states.browser',
];
const weightOf = (file: string): number => (longest.some((name) => file.endsWith(`/${name}.test.ts`)) ? 1 : 0);

/** Chooses lanes for test files by where they are and by what they import, directly or not. */
export function lanesOf(root: string, files: readonly string[]): Lanes {
  const reached = new Map<string, Set<string>>();
  const reach = (path: string): Set<string> => {
    const known = reached.get(path);
    if (known) return known;
    const all = new Set<string>();
    reached.set(path, all);
    const file = join(root, path);
    if (!existsSync(file)) return all;
    for (const { target } of importsOf({ path, text: readFileSync(file, 'utf8') })) {
      if (target === undefined) continue;
      all.add(target);
      for (const further of reach(target)) all.add(further);
    }
    return all;
  };
  const isOutside = (file: string): boolean =>
    file.startsWith('e2e/') || file.endsWith('.browser.test.ts') || reach(file).has(ownNode);
  const needsNode = (file: string): boolean => [...reach(file)].some((path) => sandboxHelpers.has(path));
  const inside = files.filter((file) => !isOutside(file));
  const isFeature = (file: string): boolean => file.startsWith('apps/server/src/features/');
  const loadOf = (list: string[]): Load => ({ files: list, needsNode: list.some(needsNode) });
  // Lists of about the same length. What waits for the node is not first: its images may have to be built.
  const own = inside.filter((file) => isFeature(file) && !needsNode(file));
  const others = inside.filter((file) => !isFeature(file) && !needsNode(file));
  const everySecond = (rest: number): string[] => own.filter((_, at) => at % 2 === rest);
  return {
    inside: [everySecond(0), everySecond(1), others, inside.filter(needsNode)]
      .filter(({ length }) => length > 0)
      .map(loadOf),
    outside: files
      .filter(isOutside)
      .sort((a, b) => weightOf(b) - weightOf(a) || (a < b ? 1 : -1))
      .map((file) => loadOf([file])),
  };
}
