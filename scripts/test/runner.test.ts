import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { testsOf } from './changed.ts';
import { readCosts } from './costs.ts';
import { ofOtherImages, piecesOf } from './lanes.ts';

const repository = resolve(import.meta.dirname, '../..');
const helpers = join(repository, 'apps/server/src/testing.ts');

/** A repository of planted test files, by path. */
function plant(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'svc-planted-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  execFileSync('git', ['init', '-q', root]);
  const imports = `import { test, describe, before } from 'node:test';\nimport { execFileSync, spawn } from 'node:child_process';\n`;
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), imports + text);
  }
  return root;
}

const runner = [join(repository, 'scripts/test.ts')];

/** The run within a test would report to it. */
function environment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return env;
}

/** Runs the suite of a planted repository to its end. */
async function runSuite(root: string, ...more: string[]): Promise<{ code: number; lines: string[] }> {
  const limits = ['--test-ms=1000', '--end-ms=1500', '--deaf-ms=5000', '--no-system-packages'];
  const words = [...runner, `--root=${root}`, ...limits, ...more];
  return await new Promise((done) => {
    execFile(process.execPath, words, { env: environment() }, (error, stdout, stderr) => {
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
    const { code, lines } = await runSuite(root);
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
    const { code, lines } = await runSuite(root);
    const output = lines.join('\n');
    assert.match(output, /✖ never ends/);
    assert.match(lines.slice(-10).join('\n'), /✖ hangs\.test\.ts: never ends\n {2}'test timed out after 1000ms/);
    assert.match(output, /failed: e2e\/loop\.test\.ts: loops: its process did not answer/);
    assert.match(output, /failed: e2e\/exits\.test\.ts: exits: the process ended with 3 in the middle of its tests/);
    assert.match(lines.at(-1) ?? '', /^1 passed, 5 failed$/);
    assert.equal(code, 1);
  });

  test('an error that nothing catches fails the run and names its test, also when that one is over', async (t) => {
    const root = plant(t, {
      'errors.test.ts': `
        import { setTimeout as sleep } from 'node:timers/promises';
        test('throws in a timer', async () => {
          setTimeout(() => { throw new Error('planted 1'); }, 1);
          await sleep(60);
        });
        test('rejects', async () => {
          void (async () => { await sleep(1); throw new Error('planted 2'); })();
          await sleep(60);
        });
        test('rejects after its end', () => void sleep(60).then(() => { throw new Error('planted 3'); }));
        test('throws after its end', () => void setTimeout(() => { throw new Error('planted 4'); }, 60));
        test('is sound', async () => sleep(120));`,
    });
    const { code, lines } = await runSuite(root);
    const output = lines.join('\n');
    const tests = ['throws in a timer', 'rejects', 'rejects after its end', 'throws after its end'];
    for (const [at, name] of tests.entries()) {
      const said = lines.findIndex((line) => line.startsWith(`✖ errors.test.ts: ${name}`));
      assert.match(lines[said + 1] ?? '', new RegExp(`planted ${at + 1}`), output);
    }
    assert.match(lines.at(-1) ?? '', /^\d passed, 4 failed$/);
    assert.equal(code, 1);
  });

  test('a file’s process is chosen by where it is and what it imports', (t) => {
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
    const piece = (needs: 'nothing' | 'node', ...files: string[]) => ({ files, needs });
    assert.deepEqual(
      piecesOf(root, [...plain, ...outside, withNode], () => undefined),
      [
        piece('nothing', 'e2e/b.test.ts'),
        piece('node', 'apps/sandboxd/src/x/c.test.ts'),
        piece('nothing', ...plain),
        piece('node', withNode),
      ],
    );
  });

  test('files that share a process are dealt in pieces of about two minutes, and the longest piece is the first', (t) => {
    const root = plant(t, { 'a.test.ts': '', 'b.test.ts': '', 'c.test.ts': '', 'd.test.ts': '', 'e2e/e.test.ts': '' });
    assert.equal(piecesOf(root, ['a.test.ts'], () => 300).length, 1);
    const seconds: Record<string, number> = { 'a.test.ts': 100, 'b.test.ts': 80, 'c.test.ts': 20, 'd.test.ts': 10 };
    const pieces = piecesOf(root, [...Object.keys(seconds), 'e2e/e.test.ts'], (file) => seconds[file] ?? 180);
    assert.deepEqual(
      pieces.map(({ files }) => files),
      [['e2e/e.test.ts'], ['a.test.ts', 'd.test.ts'], ['b.test.ts', 'c.test.ts']],
    );
  });

  test('tests of other images than the first wait for these, and all that need them are known', () => {
    const tracked = execFileSync('git', ['ls-files', '*.test.ts'], { cwd: repository, encoding: 'utf8' });
    const pieces = piecesOf(repository, tracked.trim().split('\n'), () => undefined);
    const outside = pieces
      .filter(({ files, needs }) => files.length === 1 && needs !== 'nothing')
      .flatMap(({ files }) => files);
    const found = outside.filter((file) =>
      /template: '(?:office-acte|desktop)'/.test(readFileSync(join(repository, file), 'utf8')),
    );
    assert.deepEqual(found.sort(), [...ofOtherImages].sort());
  });

  test('the last lines tell what a run cost, and which files cost most; the next run begins with these', async (t) => {
    const root = plant(t, {
      'dear.test.ts': `test('works', () => { for (const end = performance.now() + 400; performance.now() < end; ); });`,
      'cheap.test.ts': `test('works', () => {});`,
    });
    const { lines } = await runSuite(root);
    assert.match(lines.join('\n'), /^processor time: .*in 1 lanes\ndearest: dear\.test\.ts: 0\.\d s of processors/m);
    assert.ok((readCosts(root).get('dear.test.ts')?.cpu ?? 0) > (readCosts(root).get('cheap.test.ts')?.cpu ?? 0));
  });

  test('--names prints every test with its suites, those of loops too, and runs none', async (t) => {
    const root = plant(t, {
      'names.test.ts': `
        test('alone', () => { throw new Error('planted'); });
        describe('a suite', () => {
          before(() => { throw new Error('planted'); });
          for (const each of [1, 2]) test('number ' + each, { skip: each === 2 }, () => {});
          describe('inner', () => test('deep', () => {}));
        });`,
    });
    const { code, lines } = await runSuite(root, '--names');
    assert.deepEqual(lines, [
      'names.test.ts: alone',
      'names.test.ts: a suite: number 1',
      'names.test.ts: a suite: number 2',
      'names.test.ts: a suite: inner: deep',
    ]);
    assert.equal(code, 0);
  });

  test('--changed takes the files beside a change, those that import it, and those of its area; what all stand on takes all', (t) => {
    const files = {
      'apps/server/src/features/keys/keys.test.ts': '',
      'apps/server/src/features/keys/create.ts': '',
      'apps/server/src/features/wallet/wallet.test.ts': `import '../keys/create.ts';`,
      'apps/server/src/features/prompts/prompts.test.ts': '',
      'apps/server/src/features/schedules/schedules.test.ts': `import './slots.ts';`,
      'apps/server/src/features/schedules/slots.ts': `import { slots } from '@svc/timetable';`,
      'packages/timetable/src/slots.ts': '',
      'apps/sandboxd/src/room.ts': '',
      'apps/sandboxd/src/room.test.ts': '',
      'e2e/keys.test.ts': '',
      'e2e/sandboxes.test.ts': '',
    };
    const root = plant(t, files);
    execFileSync('git', ['add', '-A'], { cwd: root });
    const all = Object.keys(files).filter((file) => file.endsWith('.test.ts'));
    const chosen = (...changed: string[]) => testsOf(root, changed, all).files;
    const feature = 'apps/server/src/features';
    assert.deepEqual(chosen(`${feature}/keys/create.ts`), [
      `${feature}/keys/keys.test.ts`,
      `${feature}/wallet/wallet.test.ts`,
      'e2e/keys.test.ts',
    ]);
    assert.deepEqual(chosen('packages/timetable/src/slots.ts'), [`${feature}/schedules/schedules.test.ts`]);
    assert.deepEqual(chosen('apps/sandboxd/src/room.ts'), ['apps/sandboxd/src/room.test.ts', 'e2e/sandboxes.test.ts']);
    assert.deepEqual(chosen('apps/server/src/kernel/db/db.ts'), all);
  });
});

const memory = process.platform === 'linux' && process.getuid?.() === 0 ? false : 'mounts need root on Linux';

describe('the folder that tests write to', () => {
  test('is in memory for root, named by TMPDIR, and gone after the run', { skip: memory }, async (t) => {
    const root = plant(t, {
      'where.test.ts': `
        import { tmpdir } from 'node:os';
        test('writes', () => console.log('planted', execFileSync('stat', ['-f', '-c', '%T', tmpdir()]).toString().trim(), tmpdir()));`,
    });
    const { lines } = await runSuite(root);
    const [, kind, path = ''] = /planted (\S+) (\S+)/.exec(lines.join('\n')) ?? [];
    assert.equal(kind, 'tmpfs');
    assert.equal(existsSync(path), false);
  });

  test('what a killed run left is ended and removed by the next, and what a living one has is not', {
    skip: memory,
  }, async (t) => {
    const root = plant(t, {
      'stays.test.ts': `
        import { tmpdir } from 'node:os';
        test('stays', async () => {
          const child = spawn('sleep', ['86394'], { cwd: tmpdir(), detached: true, stdio: 'ignore' });
          console.error('planted', process.ppid, child.pid, tmpdir());
          await new Promise((resolve) => setTimeout(resolve, 3_600_000));
        });`,
    });
    const begin = async () => {
      const run = spawn(process.execPath, [...runner, `--root=${root}`, '--no-system-packages'], {
        env: environment(),
      });
      t.after(() => run.kill('SIGTERM'));
      let text = '';
      const { promise, resolve: found, reject } = Promise.withResolvers<{ pid: number; path: string }>();
      run.once('exit', () => reject(new Error(`it ended: ${text}`)));
      const said = readText(run.stdout);
      run.stderr.on('data', (chunk) => {
        text += String(chunk);
        const [, pid, path] = /planted \d+ (\d+) (\S+)\n/.exec(text) ?? [];
        if (path !== undefined) found({ pid: Number(pid), path });
      });
      return { run, said, ...(await promise) };
    };
    const dead = await begin();
    const living = await begin();
    dead.run.kill('SIGKILL');
    await once(dead.run, 'exit');
    assert.ok(existsSync(dead.path) && isAlive(dead.pid), 'nobody cleans up after a run that was killed');
    await runSuite(plant(t, { 'next.test.ts': `test('is sound', () => {});` }));
    assert.deepEqual([existsSync(dead.path), isAlive(dead.pid)], [false, false]);
    assert.deepEqual([existsSync(living.path), isAlive(living.pid)], [true, true]);
    const ended = once(living.run, 'exit');
    living.run.kill('SIGTERM');
    await ended;
    assert.match(await living.said, /^failed: the run was ended by SIGTERM$[^]*^0 passed, \d failed$/m);
  });

  test('full, the run ends with one line that says so', { skip: memory }, async (t) => {
    const root = plant(t, {
      'fills.test.ts': `
        import { tmpdir } from 'node:os';
        test('waits', async () => {
          execFileSync('mount', ['-o', 'remount,size=200m', tmpdir()]);
          await new Promise((resolve) => setTimeout(resolve, 3_600_000));
        });`,
    });
    const { code, lines } = await runSuite(root, '--test-ms=60000', '--deaf-ms=60000');
    assert.match(lines.join('\n'), /^failed: \S+ has \d+ MiB left: the run was ended$/m);
    assert.equal(code, 1);
  });
});
