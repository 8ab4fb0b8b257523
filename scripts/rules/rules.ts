/** A source file as the rules see it; `path` is relative to the repository's root. */
export interface Source {
  path: string;
  text: string;
}

/** A broken rule of ARCHITECTURE.md. */
export interface Violation {
  path: string;
  rule: string;
  found: string;
}

interface Import {
  /** As written. */
  specifier: string;
  /** Repository path of a relative import. */
  target: string | undefined;
  typeOnly: boolean;
}

const importPattern = /^\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm;

/** The imports of a file, dynamic ones included. */
export function importsOf({ path, text }: Source): Import[] {
  return [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    const target = specifier.startsWith('.') ? new URL(specifier, `file:///${path}`).pathname.slice(1) : undefined;
    return { specifier, target, typeOnly: match[1] !== undefined };
  });
}

const featureOf = (path: string): string | undefined => /^apps\/server\/src\/features\/([^/]+)\//.exec(path)?.[1];
const isTest = (path: string): boolean => /(?:\.test|[/.]testing)\.ts$/.test(path);

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
  if (path.startsWith('packages/contract/') && target === undefined && specifier !== 'zod')
    return 'contract imports zod only';
  if (path.startsWith('packages/sdk/') && target === undefined && specifier !== '@svc/contract') {
    return 'sdk imports contract only';
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
  if (specifier === 'undici' && !path.startsWith('apps/server/src/kernel/outbound.')) {
    return 'undici only in kernel/outbound';
  }
  if (specifier === 'fastify' && !inKernel && path !== 'apps/server/src/app.ts' && !path.endsWith('.stream.ts')) {
    return 'only kernel, app.ts and *.stream.ts import fastify';
  }
  return undefined;
}

/** Import rule 3: no cycles among the imports that exist at run time; type-only imports are erased. */
export function checkCycles(sources: readonly Source[]): Violation[] {
  const graph = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source).flatMap(({ target, typeOnly }) => (target === undefined || typeOnly ? [] : [target])),
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

/** Files that run before a clock is there, or are the clock. */
const clockExempt = new Set(['clock.ts', 'embedded.ts', 'lock.ts'].map((file) => `apps/server/src/kernel/${file}`));
const wallClock = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])(?:setTimeout|setInterval)\(/;

/** Import rule 5: `process.env` only in config.ts; the wall clock only through the context's clock. */
export function checkGlobals(sources: readonly Source[]): Violation[] {
  return sources.flatMap(({ path, text }) => {
    if (isTest(path) || !path.startsWith('apps/')) return [];
    const violations: Violation[] = [];
    const environment = /process\.env\b|\bprocess\['env'\]/.exec(text);
    if (environment && !path.endsWith('/src/config.ts')) {
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
const query = /\b(?:sql|db|tx)(?:<[^`]*>)?`\s*\(?(?:select|insert|update|delete|with|create)\b/i;

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
    return [...text.matchAll(schemaName)]
      .filter(([, named, relation, sequenced]) => (named ?? sequenced) !== schema && !relation?.endsWith('_view'))
      .map(([found]) => ({ path, rule: `only schema ${schema} and published views`, found }));
  });
}

const mostFilesInFeature = 20;
const mostReadmeLines = 20;

/**
 * The one-name rule: every operation of the contract has its file in the feature's folder, and the folder holds nothing
 * that the rule does not name. `contract` maps features to verbs.
 */
export function checkNames(
  sources: readonly Source[],
  contract: Readonly<Record<string, readonly string[]>>,
): Violation[] {
  const paths = new Set(sources.map((source) => source.path));
  const rule = 'one name';
  const missing = (path: string): Violation[] => (paths.has(path) ? [] : [{ path, rule, found: 'missing' }]);
  const violations = Object.entries(contract).flatMap(([feature, verbs]) => [
    ...missing(`packages/contract/src/${feature}.ts`),
    ...verbs.flatMap((verb) => missing(`apps/server/src/features/${feature}/${verb}.ts`)),
  ]);
  const folders = Map.groupBy(
    sources.filter(({ path }) => featureOf(path) !== undefined),
    ({ path }) => featureOf(path) as string,
  );
  for (const [feature, files] of folders) {
    const folder = `apps/server/src/features/${feature}`;
    violations.push(...missing(`${folder}/index.ts`), ...missing(`${folder}/README.md`));
    const names = new Set([...(contract[feature] ?? []), 'index']);
    for (const { path, text } of files) {
      const [stem = '', ...aspects] = path.slice(folder.length + 1).split('.');
      const known = path.endsWith('/README.md') || names.has(stem) || (stem === feature && aspects.length > 1);
      if (!known) violations.push({ path, rule, found: 'no operation, and no aspect of the feature' });
      if (path.endsWith('.md') && text.trimEnd().split('\n').length > mostReadmeLines) {
        violations.push({ path, rule: 'size', found: `a feature's README has at most ${mostReadmeLines} lines` });
      }
    }
    const code = files.filter(({ path }) => path.endsWith('.ts') && !isTest(path));
    if (code.length > mostFilesInFeature) {
      violations.push({ path: folder, rule: 'size', found: `${code.length} files: this is two features` });
    }
  }
  return [...violations, ...checkMigrations(sources, new Set([...folders.keys(), 'kernel']))];
}

/** Migrations are one sequence without gaps, each named after the feature whose schema it changes. */
function checkMigrations(sources: readonly Source[], features: ReadonlySet<string>): Violation[] {
  const migrations = sources
    .filter(({ path }) => path.startsWith('apps/server/migrations/'))
    .map(({ path }) => path)
    .sort();
  return migrations.flatMap((path, i) => {
    const [number, feature = '', ...rest] = path.slice('apps/server/migrations/'.length).split('.');
    const expected = String(i + 1).padStart(4, '0');
    const good = number === expected && features.has(feature) && rest.length === 2 && rest[1] === 'sql';
    return good ? [] : [{ path, rule: 'one name', found: `expected ${expected}.<feature>.<what>.sql` }];
  });
}

/** Every rule over the whole repository. */
export function checkAll(
  sources: readonly Source[],
  contract: Readonly<Record<string, readonly string[]>>,
): Violation[] {
  return [
    ...checkImports(sources),
    ...checkCycles(sources),
    ...checkGlobals(sources),
    ...checkSql(sources),
    ...checkNames(sources, contract),
  ];
}
