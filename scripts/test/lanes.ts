import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf } from '../rules/source.ts';

/** What must be there before a test begins: the sandbox node of the run and its image, or the other images too. */
export type Needs = 'nothing' | 'node' | 'images';

/** Test files of one process, one after the other. */
export interface Piece {
  readonly files: readonly string[];
  readonly needs: Needs;
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
export const ofOtherImages: ReadonlySet<string> = new Set([
  'apps/sandboxd/src/sandboxes/warm.test.ts',
  'e2e/sandboxes.skills.test.ts',
  'e2e/sandboxes.templates.test.ts',
]);

/** Files that share a process take about so long: loading the app takes most of a second of each process. */
const pieceSeconds = 120;
/** A few files are dealt to two processes all the same, when they take longer than this together. */
const longAlone = 20;
/** Of a file that was never measured: of a process of its own, and of one that shares one. */
const unknownSeconds = { own: 30, shared: 1 };

/** What tells tests where the database server of the run is, and what asks it for them. */
const database = ['apps/server/src/config.ts', 'apps/server/src/testing.ts'];

/**
 * Whether one of them may ask for the database server of the run, or for a copy of its cluster: a package alone
 * starts at once.
 */
export function needDatabase(root: string, files: readonly string[]): boolean {
  const reach = reachOf(root);
  return files.some(
    (file) =>
      file.startsWith('e2e/') ||
      database.some((path) => reach(file).has(path) || readFileSync(join(root, file), 'utf8').includes(path)),
  );
}

/** What tests ask for the programs that they start as a person would. */
const programs = 'packages/programs/src/testing.ts';

/** Whether one of them starts programs of the product: their bundle is made first, and once. */
export function startPrograms(root: string, files: readonly string[]): boolean {
  const reach = reachOf(root);
  return files.some((file) => reach(file).has(programs));
}

/**
 * Deals test files to processes, the longest first: tests of whole programs, browsers and node agents have one of their
 * own, all others share some by what they need. `secondsOf` answers how long a file took when it was measured.
 */
export function piecesOf(
  root: string,
  files: readonly string[],
  secondsOf: (file: string) => number | undefined,
): Piece[] {
  const reach = reachOf(root);
  const hasOwn = (file: string): boolean =>
    file.startsWith('e2e/') || file.endsWith('.browser.test.ts') || reach(file).has(ownNode);
  const needsOf = (file: string): Needs => {
    if (ofOtherImages.has(file)) return 'images';
    return [...reach(file)].some((path) => sandboxHelpers.has(path)) ? 'node' : 'nothing';
  };
  const seconds = (file: string): number =>
    secondsOf(file) ?? (hasOwn(file) ? unknownSeconds.own : unknownSeconds.shared);
  const sum = (list: readonly string[]): number => list.reduce((all, file) => all + seconds(file), 0);
  const shared = files.filter((file) => !hasOwn(file));
  const pieces = [
    ...files.filter(hasOwn).map((file): Piece => ({ files: [file], needs: needsOf(file) })),
    ...(['nothing', 'node'] as const).flatMap((needs) => {
      const own = shared.filter((file) => needsOf(file) === needs);
      const count = Math.max(Math.ceil(sum(own) / pieceSeconds), sum(own) > longAlone ? 2 : 1);
      return deal(own, count, seconds).map((list): Piece => ({ files: list, needs }));
    }),
  ];
  return pieces.sort((a, b) => sum(b.files) - sum(a.files));
}

/** So many lists of about the same length, or fewer; the order within one is that of the files. */
function deal(files: readonly string[], count: number, seconds: (file: string) => number): string[][] {
  const lists = Array.from({ length: count }, () => ({ files: [] as string[], sum: 0 }));
  for (const file of files.toSorted((a, b) => seconds(b) - seconds(a))) {
    const least = lists.reduce((one, other) => (other.sum < one.sum ? other : one));
    least.files.push(file);
    least.sum += seconds(file);
  }
  return lists.filter((list) => list.files.length > 0).map((list) => list.files.sort());
}

/** What a file imports: directly, through so many steps, or by default through any number. */
export function reachOf(root: string, steps = Infinity): (path: string) => ReadonlySet<string> {
  const targets = new Map<string, string[]>();
  const targetsOf = (path: string): string[] => {
    const file = join(root, path);
    const known = targets.get(path);
    if (known || !existsSync(file)) return known ?? [];
    const found = importsOf({ path, text: readFileSync(file, 'utf8') }).flatMap(({ target }) => target ?? []);
    targets.set(path, found);
    return found;
  };
  const reached = new Map<string, Set<string>>();
  return (path) => {
    const before = reached.get(path);
    if (before) return before;
    const all = new Set<string>();
    let edge = [path];
    for (let step = 0; step < steps && edge.length > 0; step += 1) {
      edge = edge.flatMap(targetsOf).filter((target) => !all.has(target) && all.add(target));
    }
    reached.set(path, all);
    return all;
  };
}
