import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { changedSince, testsOf } from './changed.ts';
import { functionsIn, functionsOf, keepReach, reachSince } from './reach.ts';

const source = `const limit = 3;
export function first() {
  return limit;
}
export function second() {
  return 2;
}
`;
const files = ['a.test.ts', 'b.test.ts', 'c.test.ts'];

/** A repository with a source of two functions and three tests, committed. */
function plant(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-reach-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'source.ts'), source);
  for (const file of files) writeFileSync(join(root, file), '');
  writeFileSync(join(root, '.gitignore'), 'node_modules');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ana', '-c', 'user.email=ana@example.test', ...args], { cwd: root });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'Begin');
  return root;
}

/** What V8 says of the source when these of its functions ran. */
const covered = (root: string, ...names: ('first' | 'second')[]) => ({
  url: pathToFileURL(join(root, 'source.ts')).href,
  functions: [
    { functionName: '', ranges: [{ startOffset: 0, endOffset: source.length, count: 1 }] },
    ...(['first', 'second'] as const).map((name) => {
      const startOffset = source.indexOf(`function ${name}`);
      const endOffset = source.indexOf('}', startOffset) + 1;
      return { functionName: name, ranges: [{ startOffset, endOffset, count: names.includes(name) ? 2 : 0 }] };
    }),
  ],
});

/** Says that a ran the first function, b the second, and c neither. */
function record(root: string): void {
  const ran = (...names: ('first' | 'second')[]) => new Set(functionsOf(root, [covered(root, ...names)]));
  keepReach(
    root,
    new Map([
      ['a.test.ts', ran('first')],
      ['b.test.ts', ran('second')],
      ['c.test.ts', ran()],
    ]),
  );
}

describe('which tests a change reaches, as a run recorded it', () => {
  test('functions that ran are told by their lines; what a module does when it loads is none, nor is what others own', (t) => {
    const root = plant(t);
    const foreign = { ...covered(root, 'first'), url: pathToFileURL(join(root, 'node_modules/x/y.js')).href };
    const inner = { ...covered(root, 'first'), url: 'node:fs' };
    assert.deepEqual(functionsOf(root, [covered(root, 'second'), foreign, inner]), ['source.ts 5 7']);
  });

  test('programs that were killed while they wrote take nothing from the others, and a folder is read once', (t) => {
    const root = plant(t);
    const folder = mkdtempSync(join(root, 'ran-'));
    writeFileSync(join(folder, 'whole.json'), JSON.stringify({ result: [covered(root, 'first')] }));
    writeFileSync(join(folder, 'half.json'), '{"result":[{"url":');
    assert.deepEqual([functionsIn(root, folder), functionsIn(root, folder)], [['source.ts 2 4'], []]);
  });

  test('a line of a function asks for the tests that ran it, a line outside for all that ran any, another text for all', (t) => {
    const root = plant(t);
    record(root);
    const change = (from: string, to: string) => {
      writeFileSync(join(root, 'source.ts'), source.replace(from, to));
      return reachSince(root, 'HEAD')('source.ts');
    };
    assert.deepEqual(change('return limit', 'return limit + 1'), ['a.test.ts']);
    assert.deepEqual(change('return 2', 'return 3'), ['b.test.ts']);
    assert.deepEqual(change('limit = 3', 'limit = 4'), ['a.test.ts', 'b.test.ts']);
    assert.equal(reachSince(root, 'HEAD')('other.ts'), undefined);
    execFileSync('git', ['-c', 'user.name=Ana', '-c', 'user.email=a@b.test', 'commit', '-qam', 'Change'], {
      cwd: root,
    });
    assert.deepEqual(
      change('return 2', 'return 3'),
      ['a.test.ts', 'b.test.ts'],
      'the text was another when it was recorded',
    );
  });

  test('--changed begins with these, says how it chose, and leaves out what would take too long', (t) => {
    const root = plant(t);
    record(root);
    writeFileSync(join(root, 'source.ts'), source.replace('limit = 3', 'limit = 4'));
    const changed = changedSince(root, 'HEAD');
    assert.deepEqual(changed, ['source.ts']);
    const chosen = testsOf(root, changed, files, { secondsOf: (file) => (file === 'b.test.ts' ? 600 : 1) });
    assert.deepEqual(chosen.files, ['a.test.ts']);
    assert.match(chosen.why, /^1 of 3 files for 1 changed paths; by the functions that they ran; 1 more reach it/);
  });
});
