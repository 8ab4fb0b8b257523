import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Functions of a source that ran, by name and first line: `create 12`. */
export type Ran = Map<string, Set<string>>;

/** One function of V8's coverage; offsets are characters. */
interface Covered {
  functionName: string;
  ranges: { startOffset: number; endOffset: number; count: number }[];
}

/** One script of V8's coverage. */
export interface CoveredScript {
  url: string;
  functions: Covered[];
}

/** Which tests a source's functions are run by, as a recorded run saw it. */
interface KnownSource {
  /** Of its text then: lines of another text say nothing. */
  hash: string;
  /** First and last line of each function that ran, and the test files, by their place in `tests`, that ran it. */
  functions: { from: number; to: number; tests: number[] }[];
}

/** What a run with `--reach` records. */
interface Reach {
  tests: string[];
  sources: Record<string, KnownSource>;
}

const reachIn = (root: string): string => join(root, 'node_modules/.cache/reach.json');
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Functions of ours that ran, as `path from to`; what a module does when it is loaded is no function of it. */
export function functionsOf(root: string, scripts: readonly CoveredScript[]): string[] {
  const lines = new Map<string, number[]>();
  return scripts.flatMap(({ url, functions }) => {
    if (!url.startsWith('file:')) return [];
    const path = relative(root, fileURLToPath(url));
    if (path.startsWith('..') || path.includes('node_modules/') || path.endsWith('.test.ts')) return [];
    const starts = lines.get(path) ?? lineStarts(join(root, path));
    lines.set(path, starts);
    return functions.flatMap(({ ranges: [whole] }, at) =>
      at > 0 && whole && whole.count > 0
        ? [`${path} ${lineAt(starts, whole.startOffset)} ${lineAt(starts, whole.endOffset)}`]
        : [],
    );
  });
}

/** The same of the programs that wrote their coverage into a folder, which is emptied. */
export function functionsIn(root: string, folder: string): string[] {
  const found = new Set<string>();
  for (const name of namesIn(folder)) {
    try {
      const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: CoveredScript[] };
      for (const each of functionsOf(root, result)) found.add(each);
    } catch {
      // A program that was killed while it wrote.
    }
    rmSync(join(folder, name), { force: true });
  }
  return [...found];
}

/** Keeps what each test file ran, for `--changed`; files that were not in this run stay as they were known. */
export function keepReach(root: string, ran: ReadonlyMap<string, ReadonlySet<string>>): void {
  const tests = [...ran.keys()];
  const bySource = new Map<string, Map<string, number[]>>();
  for (const [at, test] of tests.entries()) {
    for (const each of ran.get(test) ?? []) {
      const [path = '', from = '', to = ''] = each.split(' ');
      const functions = bySource.get(path) ?? new Map<string, number[]>();
      bySource.set(path, functions);
      functions.set(`${from} ${to}`, [...(functions.get(`${from} ${to}`) ?? []), at]);
    }
  }
  const sources = [...bySource].map(([path, functions]): [string, KnownSource] => [
    path,
    {
      hash: hashOf(readFileSync(join(root, path), 'utf8')),
      functions: [...functions].map(([lines, list]) => {
        const [from = 0, to = 0] = lines.split(' ').map(Number);
        return { from, to, tests: list };
      }),
    },
  ]);
  const path = reachIn(root);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(`${path}.new`, JSON.stringify({ tests, sources: Object.fromEntries(sources) } satisfies Reach));
  renameSync(`${path}.new`, path);
}

/** Answers which tests ran what differs from a commit in a source; undefined where nothing is known of it. */
export function reachSince(root: string, ref: string): (path: string) => readonly string[] | undefined {
  let known: Reach;
  try {
    known = JSON.parse(readFileSync(reachIn(root), 'utf8')) as Reach;
  } catch {
    return () => undefined;
  }
  return (path) => {
    const source = known.sources[path];
    if (!source) return undefined;
    const before = git(root, 'show', `${ref}:${path}`);
    const isSame = before !== undefined && hashOf(before) === source.hash;
    const hunks = isSame ? changedLines(root, ref, path) : [[0, Infinity] as const];
    const ran = source.functions.filter(({ from, to }) => hunks.some(([first, last]) => first <= to && last >= from));
    // A line outside of every function that ran: of a constant, a type, or what no test runs.
    const all = ran.length > 0 ? ran : source.functions;
    return [...new Set(all.flatMap(({ tests }) => tests))].flatMap((at) => known.tests[at] ?? []);
  };
}

/** First and last line of each change, as the commit had them. */
function changedLines(root: string, ref: string, path: string): (readonly [number, number])[] {
  const diff = git(root, 'diff', '-U0', ref, '--', path) ?? '';
  return [...diff.matchAll(/^@@ -(\d+)(?:,(\d+))? /gm)].map(([, from = '0', count = '1']) => {
    const first = Number(from);
    return [first, first + Math.max(0, Number(count) - 1)] as const;
  });
}

function git(root: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

function lineStarts(file: string): number[] {
  try {
    const starts = [0];
    for (const { index } of readFileSync(file, 'utf8').matchAll(/\n/g)) starts.push(index + 1);
    return starts;
  } catch {
    return [0];
  }
}

function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
