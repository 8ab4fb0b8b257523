import { featureOf, isTest, type Source, type Violation } from './source.ts';

/** Lines of a room, tests aside: a feature's folder, or a folder below it, which holds one part of the feature. */
const mostLines = 2_500;
const mostReadmeLines = 20;
/** The block that `npm run generate` writes into a README: tables of moves. It does not count. */
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
    const verbs = new Set(contract[feature] ?? []);
    for (const { path, text } of files) {
      const name = path.slice(folder.length + 1);
      const found = nameFault(name, feature, verbs);
      if (found !== undefined) violations.push({ path, rule, found });
      const own = text.replaceAll(generatedBlock, '').trimEnd();
      if (name === 'README.md' && own.split('\n').length > mostReadmeLines) {
        violations.push({ path, rule: 'size', found: `a feature's README has at most ${mostReadmeLines} lines` });
      }
    }
    violations.push(...checkRooms(files));
  }
  return [...violations, ...checkMigrations(sources, new Set([...folders.keys(), ...mergedFeatures, 'kernel']))];
}

/** Why a file of a feature's folder has a wrong name: a reader finds an operation by its verb, all else by its subject. */
function nameFault(name: string, feature: string, verbs: ReadonlySet<string>): string | undefined {
  const [room, inside, ...deeper] = name.split('/');
  const [stem = '', ...aspects] = (inside ?? room ?? '').split('.');
  if (deeper.length > 0) return 'a room of a feature has no room of its own';
  if (inside !== undefined) return verbs.has(room ?? '') ? 'a room is not named after an operation' : undefined;
  if (name === 'README.md' || stem === 'feature' || stem === 'index') return undefined;
  if (stem === feature && aspects.length > 1) return undefined;
  if (!verbs.has(stem)) return 'no operation, and no aspect of the feature';
  return aspects.length === 1 || aspects[0] === 'test' ? undefined : 'named after an operation, and is another thing';
}

/** Rooms over their lines. */
function checkRooms(files: readonly Source[]): Violation[] {
  const rooms = Map.groupBy(
    files.filter(({ path }) => path.endsWith('.ts') && !isTest(path)),
    ({ path }) => path.slice(0, path.lastIndexOf('/')),
  );
  return [...rooms].flatMap(([path, own]) => {
    const lines = own.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);
    return lines > mostLines
      ? [{ path, rule: 'size', found: `${lines} lines: a part of it is a room of its own` }]
      : [];
  });
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
  'transcripts.publicTranscript': 'document 1: the public route of share links',
  'transcripts.listFolders': 'document 1: folders of transcripts have a path of their own',
  'transcripts.createFolder': 'document 1: see transcripts.listFolders',
  'transcripts.getFolder': 'additive; see transcripts.listFolders',
  'transcripts.updateFolder': 'document 1: see transcripts.listFolders',
  'transcripts.removeFolder': 'document 1: see transcripts.listFolders',
  'transcripts.vocabulary': 'document 1: the vocabulary has a path of its own',
  'transcripts.setVocabulary': 'document 1: see transcripts.vocabulary',
  'relay.status': 'document 3: {relay_url}/v1/environments/{id}/status',
  'relay.serve': 'beside relay.status',
  'relay.attach': 'beside relay.status',
  'relay.join': 'beside relay.status',
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
  'notifications.listSubscriptions': 'a browser is a way to a person, as the inbox is',
  'notifications.subscribe': 'a browser is a way to a person, as the inbox is',
  'notifications.unsubscribe': 'a browser is a way to a person, as the inbox is',
  'notifications.removeSubscription': 'a browser is a way to a person, as the inbox is',
  'notifications.pushDelivered': 'a browser is a way to a person, as the inbox is',
  'scheduler.heartbeat': 'runs are the work of the scheduler',
  'scheduler.result': 'runs are the work of the scheduler',
  'scheduler.decide': 'runs are the work of the scheduler',
  'scheduler.cancel': 'runs are the work of the scheduler',
  'scheduler.runs': 'runs are the work of the scheduler',
  'scheduler.getRun': 'runs are the work of the scheduler',
  'scheduler.rerun': 'runs are the work of the scheduler',
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
