import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { test } from 'node:test';
import { bundledName } from './index.ts';

const clone = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(clone, path), 'utf8');
const programs = JSON.parse(read('packages/programs/programs.json')) as string[];

/** A program beside a module, by its path; what stands in front of it says who asks. */
const byPath =
  /(\S*?)(?:(?:join|resolve)\(import\.meta\.dirname, '([^']+\.ts)'\)|new URL\('([^']+\.ts)', import\.meta\.url\))/g;
/** Started by tests alone, as the programs of the daemon's machine. */
const ofTests = ['apps/host/src/main.ts', 'apps/host/src/env.ts', 'apps/host/src/login.ts'];

test('every program that is started by its path is in the bundle, is asked for by programPath, and there is no other', () => {
  const sources = globSync('{apps,packages}/*/src/**/*.ts', { cwd: clone, exclude: ['**/node_modules/**'] });
  const started = sources
    .filter((path) => !/\.test\.ts$|testing(?:\.\w+)?\.ts$|^apps\/hub\//.test(path))
    .flatMap((path) =>
      [...read(path).matchAll(byPath)].map(([, before = '', joined, located]) => {
        const program = normalize(join(dirname(path), joined ?? located ?? ''));
        // It goes back to the source where a user cannot read the bundle.
        const isAsked = before.endsWith('programPath(') || path.endsWith('root/exec.ts');
        assert.ok(isAsked, `${path} starts ${program} from its source`);
        return program;
      }),
    );
  const typed = [...read('svc').matchAll(/\bapps\/\S+\.ts\b/g)].map(([path]) => path);
  assert.deepEqual([...programs].sort(), [...new Set([...started, ...typed, ...ofTests])].sort());
});

test('the bundle has each program, by readable names and with its map, and no path of the machine that made it', () => {
  const launcher = join(clone, 'packages/programs/launch.mjs');
  const folder = execFileSync(process.execPath, [launcher, '--folder'], { encoding: 'utf8' });
  assert.notEqual(folder, '');
  const files = readdirSync(folder);
  for (const name of programs.map(bundledName))
    assert.deepEqual([files.includes(name), files.includes(`${name}.map`)], [true, true], name);
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  assert.equal(
    texts.findIndex((text) => text.includes(clone)),
    -1,
  );
  assert.ok(texts.some((text) => text.includes('WorkFailed = class extends Error {')));
});
