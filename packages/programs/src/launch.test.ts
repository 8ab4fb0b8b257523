import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';

const repository = resolve(import.meta.dirname, '../../..');
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

const main = `import { readFileSync } from 'node:fs';
import { word } from './word.ts';
const isBundled: boolean = process.argv[1]?.endsWith('.mjs') === true;
const beside = readFileSync(new URL('beside.txt', import.meta.url), 'utf8');
const { late } = await import('./late.ts');
console.log(JSON.stringify({ isBundled, word, late, beside, dirname: import.meta.dirname, words: process.argv.slice(2) }));
if (process.argv[2] === 'stay') await new Promise((done) => process.stdin.once('end', done).resume());
`;

/** What the program of a small clone says of itself. */
interface Said {
  isBundled: boolean;
  word: string;
  late: string;
  beside: string;
  dirname: string;
  words: string[];
}

/** A small clone with the real launcher; its folder goes when the test ends. */
function smallClone(t: TestContext, name = 'clone') {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-launch-')));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  return cloneAt(join(folder, name));
}

function cloneAt(clone: string) {
  const file = (path: string): string => join(clone, path);
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(file(path)), { recursive: true });
    writeFileSync(file(path), content);
  };
  for (const name of ['launch.mjs', 'src/build.ts', 'src/bundle.ts', 'src/index.ts', 'src/unused.ts'])
    write(`packages/programs/${name}`, readFileSync(join(repository, 'packages/programs', name), 'utf8'));
  write('packages/programs/programs.json', '["apps/a/src/main.ts"]');
  for (const name of ['package.json', 'apps/a/package.json']) write(name, '{ "type": "module" }');
  write('package-lock.json', '{}');
  write('apps/a/src/main.ts', main);
  write('apps/a/src/beside.txt', 'beside it');
  write('apps/a/src/word.ts', "export const word: string = 'one';\n");
  write('apps/a/src/late.ts', "export const late: string = 'later';\n");
  mkdirSync(file('node_modules'));
  for (const name of ['esbuild', '@esbuild'])
    symlinkSync(join(repository, 'node_modules', name), file(`node_modules/${name}`));
  return handleOf(clone);
}

function handleOf(clone: string) {
  const file = (path: string): string => join(clone, path);
  const bundles = file('node_modules/.cache/bundles');
  const command = [file('packages/programs/launch.mjs'), 'apps/a/src/main.ts'];
  const parse = (said: string): Said => JSON.parse(said) as Said;
  return {
    clone,
    file,
    write: (path: string, content: string) => writeFileSync(file(path), content),
    run(as: { uid?: number; gid?: number } = {}): Said {
      const options = { encoding: 'utf8', cwd: '/', env: {}, ...as } as const;
      const { stdout, stderr } = spawnSync(process.execPath, [...command, 'a word'], options);
      assert.equal(stderr, '');
      return parse(stdout);
    },
    start: (...words: string[]): ChildProcess =>
      spawn(process.execPath, [...command, ...words], { stdio: ['pipe', 'pipe', 'inherit'], env: {} }),
    parse,
    bundles,
    names: (): string[] => readdirSync(bundles).sort(),
    /** The newest bundle. */
    bundle: (): string => {
      const at = (name: string): number => statSync(join(bundles, name)).mtimeMs;
      return join(bundles, readdirSync(bundles).sort((one, other) => at(other) - at(one))[0] ?? '');
    },
  };
}

test('a start makes a bundle and runs it, and the next one makes none; a module keeps the place of its source', (t) => {
  const c = smallClone(t);
  const said = { isBundled: true, word: 'one', late: 'later', beside: 'beside it', words: ['a word'] };
  assert.deepEqual(c.run(), { ...said, dirname: c.file('apps/a/src') });
  const { ino } = statSync(c.bundle());
  assert.deepEqual(c.run(), { ...said, dirname: c.file('apps/a/src') });
  // Touched, and written again as it was.
  utimesSync(c.file('apps/a/src/word.ts'), new Date(), new Date());
  c.write('apps/a/src/late.ts', readFileSync(c.file('apps/a/src/late.ts'), 'utf8'));
  assert.equal(c.run().isBundled, true);
  assert.deepEqual([c.names().length, statSync(c.bundle()).ino], [1, ino]);
});

test('the next start sees a changed source, whatever its size and times are', (t) => {
  const c = smallClone(t);
  c.run();
  const file = c.file('apps/a/src/word.ts');
  const { atime, mtime } = statSync(file);
  c.write('apps/a/src/word.ts', "export const word: string = 'two';\n");
  utimesSync(file, atime, mtime);
  assert.deepEqual([c.run().word, c.run().isBundled], ['two', true]);
  // Another file in its place, older than the first.
  c.write('apps/a/src/other.ts', "export const word: string = 'six';\n");
  lutimesSync(c.file('apps/a/src/other.ts'), 1, 1);
  renameSync(c.file('apps/a/src/other.ts'), file);
  assert.deepEqual([c.run().word, c.run().isBundled], ['six', true]);
  // What is loaded late, and what the packages are.
  c.write('apps/a/src/late.ts', "export const late: string = 'late';\n");
  assert.equal(c.run().late, 'late');
  const before = c.bundle();
  c.write('node_modules/.package-lock.json', '{ "packages": {} }');
  assert.equal(c.run().isBundled, true);
  assert.notEqual(c.bundle(), before);
  // One that cannot be bundled says what is wrong itself.
  c.write('apps/a/src/word.ts', 'export const word: string = ;\n');
  assert.throws(() => c.run(), /SyntaxError/);
});

test('a bundle that is deleted, cut short or changed is made anew', (t) => {
  const c = smallClone(t);
  c.run();
  const program = () => join(c.bundle(), 'apps.a.src.main.mjs');
  const content = readFileSync(program(), 'utf8');
  const breaks: (() => void)[] = [
    () => rmSync(program()),
    () => truncateSync(program(), 10),
    () => writeFileSync(program(), content.replace('a word', 'A WORD').replace('isBundled', 'isBundlec')),
    () => truncateSync(join(c.bundle(), 'files'), 100),
    () => writeFileSync(join(c.bundle(), 'stats'), ''),
  ];
  for (const [at, breakIt] of breaks.entries()) {
    breakIt();
    assert.deepEqual([c.run().isBundled, readFileSync(program(), 'utf8')], [true, content], `break ${at}`);
  }
});

test('a clone that cannot be written, is linked to packages elsewhere or has no esbuild runs from its sources, silently', (t) => {
  const c = smallClone(t);
  const as = isRoot ? { uid: nobody, gid: nobody } : {};
  if (!isRoot) chmodSync(c.file('node_modules'), 0o555);
  assert.equal(c.run(as).isBundled, false);
  chmodSync(c.file('node_modules'), 0o755);
  // Another user runs a bundle that is there, and not one of sources that changed.
  assert.equal(c.run().isBundled, true);
  if (isRoot) assert.equal(c.run(as).isBundled, true);
  c.write('apps/a/src/word.ts', "export const word: string = 'two';\n");
  if (isRoot) assert.deepEqual([c.run(as).isBundled, c.run(as).word], [false, 'two']);
  rmSync(c.file('node_modules/esbuild'));
  assert.deepEqual([c.run().isBundled, c.run().word], [false, 'two']);
  symlinkSync(join(repository, 'node_modules/esbuild'), c.file('node_modules/esbuild'));
  renameSync(c.file('node_modules'), c.file('packages-elsewhere'));
  symlinkSync(c.file('packages-elsewhere'), c.file('node_modules'));
  assert.equal(c.run().isBundled, false);
});

test('starts at once all run what is there, and leave one whole bundle', async (t) => {
  const c = smallClone(t);
  const starts = Array.from({ length: 4 }, () => c.start());
  const said = await Promise.all(starts.map(async ({ stdout }) => c.parse(await text(stdout as never))));
  assert.deepEqual(new Set(said.map(({ isBundled, word }) => `${isBundled} ${word}`)), new Set(['true one']));
  assert.deepEqual([c.names().length, c.run().isBundled], [1, true]);
});

test('a clone with a blank in its name, one that was moved and a copy run their own sources from their bundle', (t) => {
  const c = smallClone(t, 'a clone');
  c.run();
  const moved = handleOf(join(dirname(c.clone), 'moved'));
  renameSync(c.clone, moved.clone);
  const { isBundled, dirname: place } = moved.run();
  assert.deepEqual([isBundled, place, moved.names().length], [true, moved.file('apps/a/src'), 1]);
  const copy = handleOf(join(dirname(c.clone), 'copy'));
  execFileSync('cp', ['-a', moved.clone, copy.clone]);
  assert.deepEqual([copy.run().isBundled, copy.run().dirname], [true, copy.file('apps/a/src')]);
  copy.write('apps/a/src/word.ts', "export const word: string = 'two';\n");
  assert.deepEqual([copy.run().word, moved.run().word], ['two', 'one']);
});

test('nobody runs what others could have written', { skip: isRoot ? false : 'files of others need root' }, (t) => {
  const c = smallClone(t);
  c.run();
  const program = (): string => join(c.bundle(), 'apps.a.src.main.mjs');
  const planted = 'console.log(JSON.stringify({ isBundled: true, word: "planted" }));';
  const plants: (() => void)[] = [
    () => chownSync(program(), nobody, nobody),
    () => chmodSync(program(), 0o666),
    () => chownSync(c.bundle(), nobody, nobody),
    () => chmodSync(c.bundle(), 0o777),
    () => chownSync(join(c.bundle(), 'files'), nobody, nobody),
  ];
  for (const [at, plant] of plants.entries()) {
    const before = c.bundle();
    const { ino } = statSync(before);
    plant();
    // With stats that were written again, too.
    if (at < 4) rmSync(join(before, 'stats'));
    assert.deepEqual([c.run().word, statSync(c.bundle()).ino === ino], ['one', false], `plant ${at}`);
  }
  chownSync(c.bundles, nobody, nobody);
  writeFileSync(program(), planted);
  assert.deepEqual([c.run().word, c.run().isBundled], ['one', false]);
  // A clone of that user: it may, and what root makes there is that user's.
  execFileSync('chown', ['-R', `${nobody}:${nobody}`, c.clone]);
  c.write('apps/a/src/word.ts', "export const word: string = 'two';\n");
  assert.deepEqual([c.run().word, c.run().isBundled, statSync(program()).uid], ['two', true, nobody]);
});

test('the last two bundles stay, and an older one while a process runs from it', async (t) => {
  const c = smallClone(t);
  const staying = c.start('stay');
  t.after(() => staying.kill('SIGKILL'));
  await once(staying.stdout as NodeJS.EventEmitter, 'data');
  const first = c.bundle();
  const change = (word: string): Said => {
    c.write('apps/a/src/word.ts', `export const word: string = '${word}';\n`);
    return c.run();
  };
  for (const word of ['two', 'three', 'four']) assert.equal(change(word).word, word);
  assert.deepEqual(
    [
      c.names().length,
      c
        .names()
        .map((name) => join(c.bundles, name))
        .includes(first),
    ],
    [3, true],
  );
  staying.stdin?.end();
  await once(staying, 'exit');
  assert.equal(change('five').isBundled, true);
  assert.equal(c.names().length, 2);
  // Back again: no build is needed.
  const before = c.names();
  assert.equal(change('four').word, 'four');
  assert.deepEqual(c.names(), before);
});
