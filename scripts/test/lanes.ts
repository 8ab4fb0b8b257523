import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../rules/source.ts';

/** What must be there before a test begins: the sandbox node of the run and its image, or the other images too. */
export type Needs = 'nothing' | 'node' | 'images';

/** Test files of one process. */
export interface Load {
  readonly files: readonly string[];
  readonly needs: Needs;
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

/** Their sandboxes are of other images than the first. */
const ofOtherImages = new Set([
  'apps/sandboxd/src/sandboxes/warm.test.ts',
  'e2e/sandboxes.skills.test.ts',
  'e2e/sandboxes.templates.test.ts',
]);

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
  const needsOf = (file: string): Needs => {
    if (ofOtherImages.has(file)) return 'images';
    return [...reach(file)].some((path) => sandboxHelpers.has(path)) ? 'node' : 'nothing';
  };
  const needsNode = (file: string): boolean => needsOf(file) !== 'nothing';
  const inside = files.filter((file) => !isOutside(file));
  const isFeature = (file: string): boolean => file.startsWith('apps/server/src/features/');
  const loadOf = (list: string[]): Load => ({ files: list, needs: list.some(needsNode) ? 'node' : 'nothing' });
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
      .map((file) => ({ files: [file], needs: needsOf(file) })),
  };
}

/** Begun by every run: without these nothing else matters. */
const always = new Set(['e2e/platform.test.ts', 'e2e/sandboxes.test.ts']);

/** Tests of whole programs and browsers take about an hour: a run that names no files takes one part of them. */
export const partCount = 4;

/** A part of what runs outside, from 1; the parts take about the same time, and other images are built for the first alone. */
export function partOf(outside: readonly Load[], part: number): Load[] {
  let dealt = 0;
  return outside.filter(({ files: [file = ''], needs }) => {
    if (always.has(file)) return true;
    if (needs === 'images') return part === 1;
    dealt += 1;
    return dealt % partCount === part % partCount;
  });
}
