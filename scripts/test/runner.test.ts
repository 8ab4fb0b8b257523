import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { lanesOf, partCount, partOf } from './lanes.ts';

const repository = resolve(import.meta.dirname, '../..');
const helpers = join(repository, 'apps/server/src/testing.ts');

/** A repository of planted test files, by path. */
function plant(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-planted-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  execFileSync('git', ['init', '-q', root]);
  const imports = `import { test, describe, before } from 'node:test';\nimport { spawn } from 'node:child_process';\n`;
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), imports + text);
  }
  return root;
}

/** Runs the suite of a planted repository to its end. */
async function runSuite(root: string, ...more: string[]): Promise<{ code: number; lines: string[] }> {
  const limits = ['--test-ms=1000', '--end-ms=1500', '--deaf-ms=5000', '--no-system-packages'];
  const words = [join(repository, 'scripts/test.ts'), `--root=${root}`, ...limits, ...more];
  const { NODE_TEST_CONTEXT: _, SVC_TEST_PART: __, ...env } = process.env;
  return await new Promise((done) => {
    execFile(process.execPath, words, { env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      done({ code, lines: `${stderr}${stdout}`.trimEnd().split('\n') });
    });
  });
}

/** True while a process runs; one that only waits to be reaped does not. */
const isAlive = (pid: number): boolean =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describe('the test runner', () => {
  test('what a failed test left open is named, ended and counted, and the run ends', async (t) => {
    const root = plant(t, {
      'leaks.test.ts': `
        import { startGateway, testDatabase } from '${helpers}';
        test('leaks a gateway', async () => {
          await startGateway(await testDatabase());
          throw new Error('planted');
        });
        describe('a suite', () => {
          before(() => { setInterval(() => {}, 86_391); });
          test('passes', () => {});
        });
        test('leaks a process', () => {
          const child = spawn('sleep', ['86392'], { stdio: 'ignore' });
          console.log('planted pid', child.pid);
        });
        test('leaks one that is waited for by nobody', () => {
          spawn('sh', ['-c', 'sleep 86393 & echo $!; sleep 1'], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }).unref();
        });`,
      'whole.test.ts': `test('is sound', () => {});`,
    });
    const { code, lines } = await runSuite(root, '--no-again');
    const output = lines.join('\n');
    const faults = lines.filter((line) => line.startsWith('failed: '));
    assert.equal(faults.length, 4, output);
    const found = (pattern: RegExp) =>
      assert.ok(
        faults.some((fault) => pattern.test(fault)),
        output,
      );
    found(/leaks\.test\.ts: leaks a gateway: left open: .*a server at 127\.0\.0\.1:\d+/);
    found(/leaks\.test\.ts: a suite: left open: an interval of 86391 ms/);
    found(/leaks\.test\.ts: leaks a process: left open: the process \d+/);
    found(/left running: process \d+: sleep 86393/);
    for (const pattern of [/planted pid (\d+)/, /process (\d+): sleep 86393/]) {
      assert.equal(isAlive(Number(pattern.exec(output)?.[1])), false);
    }
    assert.deepEqual([lines.at(-1), code], ['4 passed, 5 failed', 1]);
  });

  test('a test, a hook and a process that hang are ended and named', async (t) => {
    const root = plant(t, {
      'hangs.test.ts': `
        test('never ends', () => new Promise(() => {}));
        describe('its hook never ends', () => {
          before(() => new Promise(() => {}));
          test('is not reached', () => {});
        });
        test('goes on', () => {});`,
      'e2e/loop.test.ts': `test('loops', () => { for (;;); });`,
      'e2e/exits.test.ts': `test('exits', () => process.exit(3));`,
    });
    const { code, lines } = await runSuite(root, '--no-again');
    const output = lines.join('\n');
    assert.match(output, /✖ never ends/);
    assert.match(lines.slice(-10).join('\n'), /✖ hangs\.test\.ts: never ends\n {2}'test timed out after 1000ms/);
    assert.match(output, /failed: e2e\/loop\.test\.ts: loops: its process did not answer/);
    assert.match(output, /failed: e2e\/exits\.test\.ts: exits: the process ended with 3 in the middle of its tests/);
    assert.match(lines.at(-1) ?? '', /^1 passed, 5 failed$/);
    assert.equal(code, 1);
  });

  test('what fails beside other files alone is named, and fails no run; what fails again does', async (t) => {
    const root = plant(t, {
      'busy.test.ts': `
        import { existsSync, writeFileSync } from 'node:fs';
        const mark = import.meta.filename + '.ran';
        const isFirst = !existsSync(mark);
        writeFileSync(mark, '');
        test('passes when it runs alone', () => { if (isFirst) throw new Error('planted'); });
        test('is sound', () => {});`,
      'broken.test.ts': `test('never passes', () => { throw new Error('planted'); });`,
    });
    const { code, lines } = await runSuite(root);
    const output = lines.join('\n');
    assert.match(
      output,
      /^passed alone after it had failed beside others: busy\.test\.ts: passes when it runs alone$/m,
    );
    assert.match(output, /^✖ broken\.test\.ts: never passes$/m);
    assert.deepEqual([lines.at(-1), code], ['2 passed, 1 failed', 1]);
  });

  test('a file’s lane is chosen by where it is and what it imports', (t) => {
    const root = plant(t, {
      'packages/a/src/a.test.ts': `import './helper.ts';`,
      'packages/a/src/helper.ts': '',
      'e2e/b.test.ts': '',
      'apps/sandboxd/src/x/c.test.ts': `import { startDaemon } from '../testing.ts';`,
      'apps/sandboxd/src/testing.ts': '',
      'apps/server/src/features/d/d.test.ts': `import { help } from './d.testing.ts';`,
      'apps/server/src/features/d/d.testing.ts': `import { nodeOfTests } from '../sandboxes/sandboxes.testing.ts';`,
    });
    const outside = ['e2e/b.test.ts', 'apps/sandboxd/src/x/c.test.ts'];
    const plain = ['packages/a/src/a.test.ts'];
    const withNode = 'apps/server/src/features/d/d.test.ts';
    const load = (needs: 'nothing' | 'node', ...files: string[]) => ({ files, needs });
    assert.deepEqual(lanesOf(root, [...plain, ...outside, withNode]), {
      inside: [load('nothing', ...plain), load('node', withNode)],
      outside: [load('nothing', 'e2e/b.test.ts'), load('node', 'apps/sandboxd/src/x/c.test.ts')],
    });
  });

  test('each file of whole programs is in one part, but for the two that every run begins', () => {
    const tracked = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: repository, encoding: 'utf8' });
    const { outside } = lanesOf(repository, tracked.trim().split('\n'));
    for (const { files, needs } of outside) {
      const text = readFileSync(join(repository, files[0] ?? ''), 'utf8');
      assert.equal(needs === 'images', /template: '(?:office-acte|desktop)'/.test(text), files.join());
    }
    const all = outside.flatMap(({ files }) => files);
    const parts = Array.from({ length: partCount }, (_, at) => partOf(outside, at + 1).flatMap(({ files }) => files));
    const timesOf = (file: string): number => parts.filter((part) => part.includes(file)).length;
    assert.deepEqual(
      all.filter((file) => timesOf(file) !== 1),
      all.filter((file) => timesOf(file) === partCount),
    );
    assert.deepEqual(all.filter((file) => timesOf(file) === partCount).sort(), [
      'e2e/platform.test.ts',
      'e2e/sandboxes.test.ts',
    ]);
    for (const part of parts) assert.ok(part.length > all.length / 5, `${part.length} of ${all.length}`);
  });
});
