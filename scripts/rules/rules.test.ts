import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { entries, machines, paths, readSources, root, verbs } from './repository.ts';
import { checkExports } from './exports.ts';
import { checkFaults } from './faults.ts';
import { checkNames, checkUrls } from './names.ts';
import { checkAll, checkCycles, checkFloors, checkGlobals, checkImports, checkPresses, checkSql } from './rules.ts';
import type { Source } from './source.ts';
import { checkStates } from './states.ts';

const server = 'apps/server/src';
const planted = (path: string, text: string): Source[] => [{ path, text }];

describe('architecture rules', () => {
  test('hold in this repository', () => {
    assert.deepEqual(checkAll(readSources(), verbs, paths, machines, entries), []);
  });

  const imports: [string, string, string][] = [
    ['kernel that imports a feature', `${server}/kernel/x.ts`, `import { a } from '../features/keys/index.ts';`],
    ['feature that reaches into another', `${server}/features/hosts/x.ts`, `import { a } from '../keys/keys.sql.ts';`],
    ['contract that imports more than zod', 'packages/contract/src/x.ts', `import { a } from 'node:fs';`],
    ['sdk that imports more than contract', 'packages/sdk/src/x.ts', `import { z } from 'zod';`],
    ['sdk that takes a module of Node.js into browsers', 'packages/sdk/src/x.ts', `import { open } from 'node:fs';`],
    ['sdk for Node.js that needs a package', 'packages/sdk/src/file.ts', `import { z } from 'zod';`],
    ['sdk that carries the docs', 'packages/sdk/src/x.ts', `import { docs } from '@svc/contract/docs';`],
    ['host daemon that imports the server', 'apps/host/src/x.ts', `import { a } from '../../server/src/app.ts';`],
    ['feature that imports postgres.js', `${server}/features/keys/x.ts`, `import postgres from 'postgres';`],
    ['feature that goes out on its own', `${server}/features/keys/x.ts`, `import { request } from 'undici';`],
    ['feature that imports fastify', `${server}/features/keys/x.ts`, `import type { FastifyReply } from 'fastify';`],
    ['manifest that is imported elsewhere', `${server}/features/keys/x.ts`, `import { a } from './feature.ts';`],
    ['dynamic import of a feature', `${server}/kernel/x.ts`, `await import('../features/keys/index.ts');`],
    ['import over several lines', `${server}/kernel/x.ts`, `import {\n  a,\n} from '../features/keys/index.ts';`],
  ];
  for (const [what, path, text] of imports) {
    test(`find a ${what}`, () => assert.equal(checkImports(planted(path, text)).length, 1));
  }

  test('find a cycle, of types too', () => {
    const a = { path: 'apps/server/src/a.ts', text: `import { b } from './b.ts';` };
    assert.equal(checkCycles([a, { path: 'apps/server/src/b.ts', text: `export { a } from './a.ts';` }]).length, 1);
    assert.equal(
      checkCycles([a, { path: 'apps/server/src/b.ts', text: `import type { a } from './a.ts';` }]).length,
      1,
    );
  });

  test('find an arrow up in the kernel, and a room that is on no floor', () => {
    const found = (path: string, text: string) => checkFloors(planted(`${server}/kernel/${path}`, text)).length;
    assert.equal(found('db/x.ts', `import type { Kernel } from '../kernel.ts';`), 1);
    assert.equal(found('base/x.ts', `import { readRows } from '../../postgres/embedded.ts';`), 1);
    assert.equal(found('cellar/x.ts', ''), 1);
    assert.equal(found('http/x.ts', `import { ApiError } from '../base/errors.ts';\nimport '../../config.ts';`), 0);
  });

  test('find a press of the hub whose answer is thrown away before it is said to be done', () => {
    const press = (text: string) => checkPresses(planted('apps/hub/src/pages/x.tsx', text)).length;
    assert.equal(press(`acts.run(async () => hide().then(() => true), { done: text.hidden })`), 1);
    assert.equal(press(`acts.run<unknown>(work, { done: text.made })`), 1);
    assert.equal(press(`acts.run(hide, { done: (isDone) => (isDone ? done(text.hidden) : refused(text.gone)) })`), 0);
  });

  test('find process.env and the wall clock where they do not belong', () => {
    for (const text of [
      'process.env.HOME',
      'const { env } = process',
      'Date.now()',
      'new Date()',
      'setTimeout(f, 1)',
      'performance.now()',
    ]) {
      assert.equal(checkGlobals(planted(`${server}/features/keys/x.ts`, text)).length, 1, text);
    }
  });

  test("find a runtime's words in code that makes answers", () => {
    const found = (text: string, path = `${server}/features/keys/x.ts`) => checkFaults(planted(path, text)).length;
    for (const text of [
      'return { error: (error as Error).message };',
      "return error instanceof Error ? error.message : 'x';",
      'if (!(error instanceof Error)) return undefined;\n  return error.message;',
      'throw new OpError(cause.message);',
      'return `failed: ${code ?? String(error)}`;',
    ]) {
      assert.deepEqual([found(text), found(text, 'apps/host/src/runs/x.ts')], [1, 1], text);
      assert.equal(found(text, 'apps/hub/src/x.ts'), 0, text);
    }
    assert.equal(found('return error instanceof ApiError ? error.message : faultText(error);'), 0);
    assert.equal(found('log(`it broke: ${String(error)}`);'), 0);
  });

  test('find a query outside *.sql.ts and one that names a foreign table', () => {
    assert.equal(checkSql(planted(`${server}/features/keys/create.ts`, 'await tx`select 1`')).length, 1);
    const foreign = 'db`select 1 from accounts.accounts`';
    assert.equal(checkSql(planted(`${server}/features/keys/keys.sql.ts`, foreign)).length, 1);
    const published = 'db`select 1 from keys.keys join accounts.standing_view`';
    assert.equal(checkSql(planted(`${server}/features/keys/keys.sql.ts`, published)).length, 0);
    assert.equal(checkSql(planted(`${server}/features/keys/create.ts`, 'statement<Row>(`select 1`)')).length, 1);
    const made = 'export const one = statement<Row>(`select 1`);\nconst two = (db: Db) =>\n  ';
    assert.equal(checkSql(planted(`${server}/features/keys/keys.sql.ts`, `${made}one(db);`)).length, 0);
    assert.equal(checkSql(planted(`${server}/features/keys/keys.sql.ts`, `${made}statement(`)).length, 1);
  });

  test('find a state that is set by hand, and let conditions, types and other states pass', () => {
    const folder = `${server}/features/scheduler`;
    const runs = { table: 'scheduler.runs', states: ['pending', 'running'] };
    const found = (text: string) => checkStates(planted(`${folder}/x.ts`, text), [runs]).length;
    for (const text of [
      "db`update scheduler.runs set state = 'running' where id = 1`",
      "db`update scheduler.runs as r set error = null, state = 'running' where id = 1`",
      "const held = db`\n  state = 'running', error = null`",
      "db`insert into scheduler.runs (id, state) values (${id}, 'pending')`",
      `await changeRun(db, id, { state: 'running', error: null });`,
      `await changeSandbox(tx, clock, id, { from: ['pending'], to: 'running' }, {});`,
      `const change: RunChange = {\n  state: body.ok ? 'pending' : 'failed',\n};`,
      "db`select id from scheduler.runs where state in ('pending', 'running')`",
    ]) {
      assert.equal(found(text), 1, text);
    }
    for (const text of [
      "db`update scheduler.runs set error = null where state = 'running' and id = 1`",
      "db`select count(*) filter (where state = 'running'), 1 from scheduler.runs where state in ${db(runStates.sql('active'))}`",
      `interface New {\n  state: 'pending' | 'running';\n}`,
      `const change = { op: 'updated', state: 'disabled' } as const;`,
      `if (run.state === 'pending') return;`,
    ]) {
      assert.equal(found(text), 0, text);
    }
    const monitors = { table: 'heartbeats.monitors', states: ['up', 'down'] };
    const set = planted(`${server}/features/heartbeats/x.ts`, "db`update heartbeats.monitors set status = 'down'`");
    assert.equal(checkStates(set, [monitors]).length, 1);
  });

  test('what is generated into a README does not count towards its size', () => {
    const readme = (lines: string[]) => planted(`${server}/features/keys/README.md`, lines.join('\n'));
    const sizes = (lines: string[]) =>
      checkNames(readme(lines), {}).filter(({ path, rule }) => rule === 'size' && path.endsWith('.md')).length;
    const table = ['<!-- generated: moves -->', ...Array.from({ length: 40 }, () => '| a | b |'), '<!-- end -->'];
    assert.equal(sizes([...Array.from({ length: 20 }, () => 'text'), ...table]), 0);
    assert.equal(sizes([...Array.from({ length: 21 }, () => 'text'), ...table]), 1);
  });

  test('find a missing and a spare operation file, and a migration whose number or name is wrong', () => {
    const sources = readSources();
    const without = sources.filter(({ path }) => path !== `${server}/features/keys/revoke.ts`);
    assert.equal(checkNames(without, verbs).length, 1);
    assert.equal(checkNames([...sources, ...planted(`${server}/features/keys/extra.ts`, '')], verbs).length, 1);
    const migration = (name: string) => [...sources, ...planted(`apps/server/migrations/${name}`, '')];
    assert.equal(checkNames(migration('0999.keys.x.sql'), verbs).length, 0);
    assert.equal(checkNames(migration('0001.keys.again.sql'), verbs).length, 1);
    assert.equal(checkNames(migration('0999.nobody.x.sql'), verbs).length, 1);
  });

  test('find a file that is named after an operation and is another thing, and a room within a room', () => {
    const found = (name: string) => checkNames(planted(`${server}/features/keys/${name}`, ''), {}).length;
    const missing = found('keys.x.ts');
    assert.equal(found('spend/x.ts'), missing);
    assert.equal(found('spend/deep/x.ts'), missing + 1);
    const own = (name: string) =>
      checkNames(planted(`${server}/features/keys/${name}`, ''), { keys: ['list'] }).filter(({ path }) =>
        path.endsWith(name),
      ).length;
    assert.deepEqual([own('list.ts'), own('list.test.ts'), own('list.sql.ts'), own('list/x.ts')], [0, 0, 1, 1]);
  });

  test('find a room of more than 2,500 lines, tests aside', () => {
    const room = (name: string) => planted(`${server}/features/keys/${name}`, '\n'.repeat(2_501));
    const sizes = (name: string) => checkNames(room(name), {}).filter(({ rule }) => rule === 'size').length;
    assert.deepEqual([sizes('keys.x.ts'), sizes('spend/x.ts'), sizes('keys.x.test.ts')], [1, 1, 0]);
  });

  test('find an export without a reader, and the name of a type that stands twice', () => {
    const found = (...texts: string[]) =>
      checkExports(
        texts.map((text, at) => ({ path: `${server}/${at}.ts`, text })),
        new Set(),
      ).length;
    assert.equal(found('export const a = 1;'), 1);
    assert.equal(found('export const a = 1;', `import { a } from './0.ts';`), 0);
    assert.equal(found('export const a = 1;', `const { a } = await import('./0.ts');`), 0);
    assert.equal(found('export const a = 1;', `const { b } = await import('./0.ts');`), 1);
    assert.equal(found('export const a = 1;', `const all = await import('./0.ts');`), 0);
    const both = `import type { A } from './0.ts';\nimport type { A as B } from './1.ts';`;
    assert.equal(found('export interface A {}', 'export type A = 1;', both), 1);
    assert.equal(found('export class A {}', 'export abstract class A {}', both), 1);
  });

  test('find a feature without docs', () => {
    const without = readSources().filter(({ path }) => path !== 'packages/contract/src/docs/keys.ts');
    assert.deepEqual(
      checkNames(without, verbs).map(({ path }) => path),
      ['packages/contract/src/docs/keys.ts'],
    );
  });

  test('find an operation whose URL is not under its feature, and an exception that is none', () => {
    assert.deepEqual(checkUrls(paths), []);
    assert.equal(checkUrls({ ...paths, 'keys.list': '/v1/secrets' }).length, 1);
    assert.equal(checkUrls({ ...paths, 'scheduler.cancel': '/v1/scheduler/cancel' }).length, 1);
  });

  test('the linter sees floating promises, long functions and long files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-lint-'));
    try {
      const file = join(folder, 'apps/server/src/x.ts');
      mkdirSync(dirname(file), { recursive: true });
      for (const name of ['.oxlintrc.json', 'tsconfig.json', 'node_modules'])
        symlinkSync(join(root, name), join(folder, name));
      const long = Array.from({ length: 310 }, (_, i) => `  console_(${i});`).join('\n');
      writeFileSync(
        file,
        `async function work(): Promise<void> {}\ndeclare const console_: (n: number) => void;\nexport function long(): void {\n  work();\n${long}\n}\n`,
      );
      const { stdout } = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--type-aware', '.'], {
        cwd: folder,
        encoding: 'utf8',
      });
      for (const rule of ['no-floating-promises', 'max-lines-per-function', 'max-lines)'])
        assert.ok(stdout.includes(rule), rule);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('the committed OpenAPI document and settings table are those of the code', () => {
    const check = spawnSync(process.execPath, [join(root, 'scripts/generate.ts'), '--check'], { encoding: 'utf8' });
    assert.equal(check.status, 0, check.stderr);
  });
});
