import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { root } from '../rules/repository.ts';
import { lines } from './lines.ts';

const minutes = 60_000;

/**
 * Installed packages; those of the repository itself are links to the copy then. What tools keep there is not shared.
 */
function linkModules(from: string, to: string): void {
  if (!existsSync(from)) return;
  // Hard links: of 40,000 files.
  const { status } = spawnSync('cp', ['-al', from, to], { stdio: 'ignore' });
  if (status !== 0) {
    // Where the folder is on another disk they are copied, and not into what was begun.
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  }
  rmSync(join(to, '.cache'), { recursive: true, force: true });
}

/** A folder for the clone beside the repository: on the same disk, where files can be linked. */
function makeFolder(): string {
  try {
    return mkdtempSync(join(root, '../.svc-example-'));
  } catch {
    return mkdtempSync(join(tmpdir(), 'svc-example-'));
  }
}

/** The work tree without what git ignores, and the feature in it. */
function cloneWithFeature(): string {
  const clone = makeFolder();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: clone, encoding: 'utf8' });
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '-z'];
  const files = execFileSync('git', options, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(join(root, file), join(clone, file), { force: true });
  for (const modules of ['.', 'apps/server', 'apps/host', 'apps/sandboxd', 'e2e/clients'])
    linkModules(join(root, modules, 'node_modules'), join(clone, modules, 'node_modules'));
  // What lint knows of the types of all that is not changed: 5 s instead of 80.
  const known = 'node_modules/.cache/types';
  if (existsSync(join(root, known))) cpSync(join(root, known), join(clone, known), { recursive: true });
  git('init', '-q');
  rmSync(join(clone, 'scripts/example'), { recursive: true });
  cpSync(join(root, 'scripts/example/files'), clone, { recursive: true });
  for (const { file, before, line } of lines) {
    const text = readFileSync(join(clone, file), 'utf8');
    const at = text.split('\n').findIndex((each) => each.startsWith(before));
    assert.notEqual(at, -1, `${file} has no line that begins with ${before}`);
    writeFileSync(join(clone, file), text.split('\n').toSpliced(at, 0, line).join('\n'));
  }
  return clone;
}

/** What the feature adds and changes, generated files aside. */
function changedFiles(clone: string): string[] {
  const isThere = (file: string): boolean =>
    existsSync(join(root, file)) && readFileSync(join(root, file)).equals(readFileSync(join(clone, file)));
  const options = ['ls-files', '--others', '--exclude-standard', '*.ts'];
  const files = execFileSync('git', options, { cwd: clone, encoding: 'utf8' }).split('\n').filter(Boolean);
  return files.filter((file) => !isThere(file));
}

describe('a feature that is made from the list of CONTRIBUTING.md', () => {
  test('has a table, a machine, a stream, a job, pages, a quota, deletion, a command and docs, and passes lint, generators and the contract tests', {
    timeout: 12 * minutes,
  }, async () => {
    const clone = cloneWithFeature();
    // Not in this turn: a process of tests that says nothing for two minutes is ended, and a busy machine takes as long.
    const run = async (...args: string[]): Promise<string> => {
      // A run of tests within a test would report to it.
      const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
      // All other operations are looked at by the tests of the repository itself.
      const env = { ...rest, SVC_TEST_FEATURE: 'notes' };
      const options = { cwd: clone, env, maxBuffer: 64 * 1024 * 1024 };
      const { promise, resolve } = Promise.withResolvers<{ failed: boolean; stdout: string; stderr: string }>();
      execFile(process.execPath, args, options, (error, stdout, stderr) =>
        resolve({ failed: error !== null, stdout, stderr }),
      );
      const { failed, stdout, stderr } = await promise;
      assert.ok(!failed, `${args.join(' ')}\n${stdout.slice(-6_000)}\n${stderr.slice(-3_000)}`);
      return stdout;
    };
    try {
      const made = (await run('scripts/migration.ts', 'notes', 'create')).trim();
      cpSync(join(root, 'scripts/example/create.sql'), join(clone, made));
      await run('scripts/generate.ts');
      const changed = changedFiles(clone);
      execFileSync(join(root, 'node_modules/.bin/biome'), ['format', '--write', ...changed], { cwd: clone });
      // Of all other files the repository's own lint says it: each took 2 minutes of processor time twice.
      await run('scripts/lint.ts', ...changed);
      const tested = ['features/notes', 'src/contract.test', 'src/examples', 'src/later'];
      assert.match(await run('scripts/test.ts', ...tested), /\d+ passed, 0 failed/);
    } finally {
      rmSync(clone, { recursive: true, force: true });
    }
  });

  test('the list names every file that gets a line', () => {
    const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    const missing = lines.filter(({ file }) => !text.includes(file.slice(file.lastIndexOf('src/') + 4)));
    assert.deepEqual(missing, []);
  });
});
