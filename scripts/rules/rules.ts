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
/** Tests and their helpers: `x.test.ts`, `testing.ts`, `testing.x.ts`, `<feature>.testing.ts`. */
const isTest = (path: string): boolean => /\.test\.ts$|(?:\/|\.)testing(?:\.\w+)?\.ts$/.test(path);

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
  if (target?.endsWith('/feature.ts') && featureOf(target) !== undefined && path !== 'apps/server/src/app.ts') {
    return 'a manifest (feature.ts) is imported by app.ts alone';
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
  'work',
  'share',
  'peers',
  'outside',
  'records',
  'streams',
  'kernel.ts',
  'deletion.ts',
  'commands.ts',
  'http',
  'feature.ts',
  'mount',
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

/** Aspects of a feature are its files `<feature>.*.ts`; its operations are counted by the API, not here. */
const mostAspects = 12;
/** Features over the budget of aspects, and why. None may be added without a reason that holds for its kind. */
const manyAspects: Readonly<Record<string, string>> = {};
const mostReadmeLines = 20;
/** What `npm run generate` writes into a README: tables of moves. It does not count. */
export const generatedBlock = /<!-- generated: [^>]*-->\n[\s\S]*?<!-- end -->/g;

/**
 * The one-name rule: every feature of the contract has its docs, every operation its file in the feature's folder, and
 * the folder holds nothing that the rule does not name. `contract` maps features to verbs.
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
    ...missing(`packages/contract/src/docs/${feature}.ts`),
    ...verbs.flatMap((verb) => missing(`apps/server/src/features/${feature}/${verb}.ts`)),
  ]);
  const folders = Map.groupBy(
    sources.filter(({ path }) => featureOf(path) !== undefined),
    ({ path }) => featureOf(path) as string,
  );
  for (const [feature, files] of folders) {
    const folder = `apps/server/src/features/${feature}`;
    violations.push(...missing(`${folder}/README.md`));
    if (contract[feature]) violations.push(...missing(`${folder}/feature.ts`));
    const names = new Set([...(contract[feature] ?? []), 'feature', 'index']);
    for (const { path, text } of files) {
      const [stem = '', ...aspects] = path.slice(folder.length + 1).split('.');
      const known = path.endsWith('/README.md') || names.has(stem) || (stem === feature && aspects.length > 1);
      if (!known) violations.push({ path, rule, found: 'no operation, and no aspect of the feature' });
      const own = text.replaceAll(generatedBlock, '').trimEnd();
      if (path.endsWith('.md') && own.split('\n').length > mostReadmeLines) {
        violations.push({ path, rule: 'size', found: `a feature's README has at most ${mostReadmeLines} lines` });
      }
    }
    const isAspect = (path: string): boolean => path.startsWith(`${folder}/${feature}.`) && path.endsWith('.ts');
    const aspects = files.filter(({ path }) => isAspect(path) && !isTest(path));
    if (aspects.length > mostAspects && manyAspects[feature] === undefined) {
      violations.push({ path: folder, rule: 'size', found: `${aspects.length} aspects: this is two features` });
    }
  }
  return [...violations, ...checkMigrations(sources, new Set([...folders.keys(), ...mergedFeatures, 'kernel']))];
}

/** Schemas of features that were merged into another: their first migrations keep their names. */
const mergedFeatures = ['previews'];

/**
 * Migrations are one sequence, each named after the feature whose schema it changes. Gaps are allowed, so that branches
 * rarely take the same number; two with one number are found here.
 */
function checkMigrations(sources: readonly Source[], features: ReadonlySet<string>): Violation[] {
  const migrations = sources
    .filter(({ path }) => path.startsWith('apps/server/migrations/'))
    .map(({ path }) => path)
    .sort();
  const numbers = new Set<string>();
  return migrations.flatMap((path) => {
    const [number = '', feature = '', ...rest] = path.slice('apps/server/migrations/'.length).split('.');
    const isFree = !numbers.has(number);
    numbers.add(number);
    const isNamed = /^\d{4}$/.test(number) && features.has(feature) && rest.length === 2 && rest[1] === 'sql';
    const found = isFree ? 'expected <four digits>.<feature>.<what>.sql' : `a second migration ${number}`;
    return isNamed && isFree ? [] : [{ path, rule: 'one name', found }];
  });
}

/** Operations whose URL does not begin with their feature's name, as the documents say them. */
const otherUrls: Readonly<Record<string, string>> = {
  'mcp.call': 'document 3: {base_url}/mcp',
  'health.live': 'probes stand at the root',
  'health.ready': 'probes stand at the root',
  'health.status': 'probes stand at the root',
  'heartbeats.badgeSvg': 'short, as it is put into pages',
  'heartbeats.badgeJson': 'short, as it is put into pages',
  'heartbeats.ping': 'short, as it is typed into scripts',
  'heartbeats.signal': 'short, as it is typed into scripts',
  'heartbeats.signalSlug': 'short, as it is typed into scripts',
  'notifications.vapidKey': 'a browser is a way to a person, as the inbox is',
  'notifications.subscribe': 'a browser is a way to a person, as the inbox is',
  'notifications.unsubscribe': 'a browser is a way to a person, as the inbox is',
  'scheduler.heartbeat': 'runs are the work of the scheduler',
  'scheduler.result': 'runs are the work of the scheduler',
  'scheduler.decide': 'runs are the work of the scheduler',
  'scheduler.cancel': 'runs are the work of the scheduler',
  'scheduler.runs': 'runs are the work of the scheduler',
  'scheduler.getRun': 'runs are the work of the scheduler',
  'scheduler.log': 'runs are the work of the scheduler',
  'scheduler.appendLog': 'runs are the work of the scheduler',
  'scheduler.fire': 'an event starts runs',
};

/** The one-name rule for URLs: the first segment after `/v1/` is the feature. */
export function checkUrls(paths: Readonly<Record<string, string>>): Violation[] {
  return Object.entries(paths).flatMap(([operation, url]) => {
    const feature = operation.slice(0, operation.indexOf('.'));
    const isOwn = url === `/v1/${feature}` || url.startsWith(`/v1/${feature}/`);
    const isListed = otherUrls[operation] !== undefined;
    if (isOwn !== isListed) return [];
    const found = isOwn ? 'is listed as an exception and needs none' : 'does not begin with its feature';
    return [{ path: url, rule: 'one name', found: `${operation} ${found}` }];
  });
}

/** Tables with a state machine, and the file that has its moves. */
const machines = [
  { table: 'scheduler.runs', moves: 'apps/server/src/features/scheduler/scheduler.states.ts' },
  { table: 'prompts.prompts', moves: 'apps/server/src/features/prompts/prompts.states.ts' },
  { table: 'prompts.runs', moves: 'apps/server/src/features/prompts/prompts.runs.ts' },
  { table: 'sandboxes.sandboxes', moves: 'apps/server/src/features/sandboxes/sandboxes.moves.ts' },
];

/** A state in the columns of a query (what a condition compares follows a `where`), and one in an object that is no type. */
const stateInColumns = /\b(?:set|,)\s+(?:\w+\.)?state\s*=(?!=)\s*'[a-z_]+'|`\s*state\s*=\s*'[a-z_]+'\s*,/;
const stateInObject = /\b(?:state|to):\s*(?:[^,;{}()|]*\?[^,;{}()|]*)?'([a-z_]+)'(?:\s+as\s+const)?(?!\s*[|;])/g;
const insertion = /\binsert\s+into\s+([a-z_]+\.[a-z_]+)[^`]*/g;

/** A state machine's states are set by the moves of its table, not by hand. */
export function checkStates(sources: readonly Source[]): Violation[] {
  return machines.flatMap(({ table, moves }) => {
    const folder = moves.slice(0, moves.lastIndexOf('/') + 1);
    const states = new Set(statesOf(sources.find(({ path }) => path === moves)?.text ?? ''));
    return sources.flatMap(({ path, text }) => {
      if (!path.startsWith(folder) || !path.endsWith('.ts') || path === moves || isTest(path)) return [];
      const isState = (found: string): boolean =>
        [...found.matchAll(/'([a-z_]+)'/g)].some(([, s = '']) => states.has(s));
      const found = [
        ...(stateInColumns.exec(text) ?? []),
        ...[...text.matchAll(stateInObject)].map(([all]) => all),
        ...[...text.matchAll(insertion)].filter(([, into]) => into === table).map(([all]) => all),
      ].filter(isState);
      return found.map((each) => ({ path, rule: `states of ${table} are set by ${moves}`, found: each.trim() }));
    });
  });
}

/** The states that a table of moves names after `from` and `to`. */
function statesOf(text: string): string[] {
  const lists = [...text.matchAll(/\b(?:from|to):\s*(\[[^\]]*\]|'[a-z_]+')/g)].map(([, list = '']) => list);
  return lists.flatMap((list) => [...list.matchAll(/'([a-z_]+)'/g)].map(([, state = '']) => state));
}

/** Every rule over the whole repository. `paths` maps operations to their URLs. */
export function checkAll(
  sources: readonly Source[],
  contract: Readonly<Record<string, readonly string[]>>,
  paths: Readonly<Record<string, string>>,
): Violation[] {
  return [
    ...checkUrls(paths),
    ...checkImports(sources),
    ...checkCycles(sources),
    ...checkFloors(sources),
    ...checkGlobals(sources),
    ...checkSql(sources),
    ...checkStates(sources),
    ...checkNames(sources, contract),
  ];
}
