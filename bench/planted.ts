import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openTree } from '../e2e/torture/past/tree.ts';

/**
 * Plants faults in the product, one at a time, in a copy of the repository, and tells which of them the tests find:
 * those that `npm test -- --changed` takes for it, or all with `--whole`. `planted.json` was chosen by somebody who had
 * not seen the tests; a fault whose place has changed since is left out and named. Exits with 1 when one is missed.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    whole: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
  },
});

/** A slip of a programmer. */
interface Planted {
  readonly id: string;
  readonly file: string;
  /** Text that stands in the file exactly once, and what takes its place. */
  readonly find: string;
  readonly replace: string;
  /** What goes wrong for whom. */
  readonly means: string;
}

const all = JSON.parse(readFileSync(join(import.meta.dirname, 'planted.json'), 'utf8')) as Planted[];
const only = options.only?.split(',');
const wanted = all.filter(({ id }) => only?.includes(id) ?? true);

using tree = openTree();
// `--changed` compares with a commit.
const git = (...args: string[]) => execFileSync('git', args, { cwd: tree.dir, stdio: 'ignore' });
git('init', '-q');
git('add', '-A');
git('-c', 'user.name=planted', '-c', 'user.email=planted@example.test', 'commit', '-qm', 'Begin');

/** Runs the tests; answers the first line of the first that failed, or undefined. */
async function run(): Promise<string | undefined> {
  const words = ['scripts/test.ts', ...(options.whole ? [] : ['--changed']), '--no-system-packages'];
  const limits = { cwd: tree.dir, timeout: Number(options.minutes) * 60_000, maxBuffer: 512 * 1024 * 1024 };
  const { promise, resolve } = Promise.withResolvers<{ failed: boolean; lines: string[] }>();
  execFile(process.execPath, words, limits, (error, stdout) =>
    resolve({ failed: error !== null, lines: stdout.split('\n') }),
  );
  const { failed, lines } = await promise;
  const first = lines.find((line) => /^(?:✖ \S+\.test\.ts: |failed: )/.test(line));
  return failed ? (first ?? 'the run was ended') : undefined;
}

let missed = 0;
for (const { id, file, find, replace, means } of wanted) {
  const begun = performance.now();
  let found: string | undefined;
  try {
    using _ = tree.put({ name: id, was: means, file, find, replace, test: '' });
    found = await run();
  } catch (error) {
    console.log(`left out ${id} ${file}: ${(error as Error).message}`);
    continue;
  }
  if (found === undefined) missed += 1;
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(`${found === undefined ? 'missed' : 'found '} ${id} ${file} (${seconds} s): ${found ?? means}`);
}
process.exit(missed > 0 ? 1 : 0);
