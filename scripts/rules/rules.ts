import { checkExports } from './exports.ts';
import { checkFaults } from './faults.ts';
import { checkNames, checkUrls } from './names.ts';
import { featureOf, type Import, importsOf, isTest, type Source, type Violation } from './source.ts';
import { checkStates, type Stateful } from './states.ts';

/** Import rules 1, 2, 4, 5 (libraries) and 6. */
export function checkImports(sources: readonly Source[]): Violation[] {
  return sources.flatMap((source) => {
    const { path } = source;
    if (isTest(path)) return [];
    return importsOf(source).flatMap((entry) => {
      const rule = brokenImportRule(path, entry);
      return rule === undefined ? [] : [{ path, rule, found: entry.specifier }];
    });
  });
}

function brokenImportRule(path: string, { specifier, target }: Import): string | undefined {
  const own = featureOf(path);
  const other = target === undefined ? undefined : featureOf(target);
  if (path.startsWith('apps/server/src/kernel/') && other !== undefined) return 'kernel imports no feature';
  if (own !== undefined && other !== undefined && own !== other && !target?.endsWith('/index.ts')) {
    return 'a feature reaches another only through its index.ts';
  }
  if (
    target?.endsWith('/feature.ts') &&
    featureOf(target) !== undefined &&
    !/^apps\/server\/src\/app\.features(\.\w+)?\.ts$/.test(path)
  ) {
    return 'a manifest (feature.ts) is imported by app.features.ts and its parts alone';
  }
  if (path.startsWith('packages/contract/') && target === undefined && specifier !== 'zod')
    return 'contract imports zod only';
  if (path.startsWith('packages/sdk/') && target === undefined && specifier !== '@svc/contract') {
    const isForNode = specifier.startsWith('node:') || specifier === '@svc/process-lock';
    if (path !== 'packages/sdk/src/file.ts' || !isForNode) return 'sdk imports contract only';
  }
  const app = /^apps\/([^/]+)\//.exec(path)?.[1];
  if (
    app !== undefined &&
    app !== 'server' &&
    (specifier.startsWith('@svc/server') || target?.startsWith('apps/server/'))
  ) {
    return 'other apps never import apps/server';
  }
  if (!path.startsWith('apps/server/src/')) return undefined;
  const inKernel = path.startsWith('apps/server/src/kernel/');
  if (specifier === 'postgres' && !inKernel) return 'postgres.js only in kernel';
  if (specifier === 'undici' && !/^apps\/server\/src\/kernel\/outside\/(?:outbound\.|upstream\.ts$)/.test(path)) {
    return 'undici only in kernel/outside';
  }
  if (specifier === 'fastify' && !inKernel && path !== 'apps/server/src/app.ts') {
    return 'only kernel and app.ts import fastify';
  }
  return undefined;
}

/** Import rule 3: no cycles, those of types included: who reads one file of a circle has to read all of it. */
export function checkCycles(sources: readonly Source[]): Violation[] {
  const graph = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source).flatMap(({ target }) => (target === undefined ? [] : [target])),
    ]),
  );
  const done = new Set<string>();
  const violations: Violation[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) violations.push({ path, rule: 'no import cycles', found: [...trail.slice(at), path].join(' -> ') });
    if (at >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return violations;
}

/**
 * The floors of the kernel, the ground first: a room (a folder, or a file of the kernel's root) imports from its own floor
 * and those below it.
 */
const floors = [
  'base',
  'db',
  'machine.ts',
  'work',
  'share',
  'peers',
  'outside',
  'records',
  'streams',
  'kernel.ts',
  'restored.ts',
  'deletion.ts',
  'commands.ts',
  'http',
  'feature.ts',
  'mount',
  'forwarder',
  'reference',
  'sweep.ts',
];
const kernelFolder = 'apps/server/src/kernel/';

/** The kernel's floors: no import goes up, those of types included; what stands under the kernel is the settings alone. */
export function checkFloors(sources: readonly Source[]): Violation[] {
  const rule = 'floors of the kernel';
  const floorOf = (path: string): number => floors.indexOf(path.slice(kernelFolder.length).split('/')[0] ?? '');
  return sources.flatMap((source) => {
    const { path } = source;
    if (!path.startsWith(kernelFolder) || isTest(path)) return [];
    if (floorOf(path) < 0) return [{ path, rule, found: 'is on no floor' }];
    return importsOf(source).flatMap(({ target }) => {
      if (target === undefined || /^apps\/server\/src\/config(?:\.\w+)?\.ts$/.test(target)) return [];
      const isBelow = target.startsWith(kernelFolder) && floorOf(target) <= floorOf(path);
      return isBelow ? [] : [{ path, rule, found: target }];
    });
  });
}

/** The clock, and what must notice a silence that is real whatever a test's clock says. */
const clockExempt = new Set(['apps/server/src/kernel/base/clock.ts', 'apps/server/src/kernel/db/socket.ts']);
const wallClock = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])(?:setTimeout|setInterval)\(/;

/** Import rule 5: `process.env` only in config.ts and config.handed.ts; the wall clock only through the context's clock. */
export function checkGlobals(sources: readonly Source[]): Violation[] {
  return sources.flatMap(({ path, text }) => {
    if (isTest(path) || !path.startsWith('apps/')) return [];
    const violations: Violation[] = [];
    const environment = /process\.env\b|\bprocess\['env'\]|\benv\b[^}=]*\}\s*=\s*process\b/.exec(text);
    if (environment && !/\/src\/config(?:\.handed)?\.ts$/.test(path)) {
      violations.push({ path, rule: 'process.env only in config.ts', found: environment[0] });
    }
    const inside = /^apps\/server\/src\/(kernel|features)\//.test(path);
    const clock = inside && !clockExempt.has(path) ? wallClock.exec(text) : null;
    if (clock) violations.push({ path, rule: 'the wall clock only through clock', found: clock[0] });
    return violations;
  });
}

const schemaName =
  /\b(?:from|join|into|update|table|references)\s+([a-z_]+)\.([a-z_]+)|\bnextval\('([a-z_]+)\.([a-z_]+)/gi;
const query =
  /\b(?:sql|db|tx)(?:<[^`]*>)?`\s*\(?(?:select|insert|update|delete|with|create)\b|\b(?:s|pagedS)tatement[(<]/i;
/** A statement whose text is made anew by each call. */
const lateStatement = /^(?!(?:export )?const \w+ = |import |\s*\*).*\b(?:s|pagedS)tatement(?:<[^(]*>)?\(.*/m;

/** Import rule 7: a feature's queries stand in its *.sql.ts and name its own schema, or another's `*_view`. */
export function checkSql(sources: readonly Source[]): Violation[] {
  return sources.flatMap(({ path, text }) => {
    const feature = featureOf(path);
    if (feature === undefined || isTest(path)) return [];
    if (!path.endsWith('.sql.ts')) {
      const found = query.exec(text);
      return found ? [{ path, rule: 'queries only in *.sql.ts', found: found[0] }] : [];
    }
    const schema = feature.replaceAll('-', '_');
    const foreign = [...text.matchAll(schemaName)]
      .filter(([, named, relation, sequenced]) => (named ?? sequenced) !== schema && !relation?.endsWith('_view'))
      .map(([found]) => ({ path, rule: `only schema ${schema} and published views`, found }));
    const late = lateStatement.exec(text);
    return late ? [...foreign, { path, rule: 'a statement is made once, as a constant', found: late[0] }] : foreign;
  });
}

/**
 * What the hub says after a press follows from the answer: `acts.run` demands a look at one that tells whether it was done (`Said`),
 * so none is thrown away before.
 */
export function checkPresses(sources: readonly Source[]): Violation[] {
  const thrown = /\.then\(\(\) => (?:true|undefined)\)|\bacts\.run<(?:unknown|any|void)>|as Said</;
  return sources
    .filter(({ path }) => path.startsWith('apps/hub/src/') && !isTest(path))
    .flatMap(({ path, text }) => {
      const found = thrown.exec(text)?.[0];
      return found === undefined ? [] : [{ path, rule: 'a press says what came of it', found }];
    });
}

/** Every rule over the whole repository. `paths` maps operations to their URLs. */
export function checkAll(
  sources: readonly Source[],
  contract: Readonly<Record<string, readonly string[]>>,
  paths: Readonly<Record<string, string>>,
  machines: readonly Stateful[],
  entries: ReadonlySet<string>,
): Violation[] {
  return [
    ...checkExports(sources, entries),
    ...checkUrls(paths),
    ...checkImports(sources),
    ...checkCycles(sources),
    ...checkFloors(sources),
    ...checkGlobals(sources),
    ...checkSql(sources),
    ...checkStates(sources, machines),
    ...checkNames(sources, contract),
    ...checkPresses(sources),
    ...checkFaults(sources),
  ];
}
