import { createHash } from 'node:crypto';
import { concurrentIndex } from '../../apps/server/src/kernel/db/concurrently.ts';
import { markOf } from '../../apps/server/src/kernel/db/migration.ts';
import { splitStatements } from '../../apps/server/src/kernel/db/statements.ts';
import type { Source, Violation } from './source.ts';

/** Migrations up to this one are as they are: they ran when nothing was served meanwhile. */
const lastOld = 371;
const rule = 'migrations run under a platform that serves';
const folder = 'apps/server/migrations/';

const relation = String.raw`(?:if\s+(?:not\s+)?exists\s+)?(?:only\s+)?([a-z_]+\.[a-z_]+)`;
const made = new RegExp(String.raw`\bcreate\s+(?:unlogged\s+)?table\s+${relation}`, 'gi');
const altered = new RegExp(String.raw`^alter\s+table\s+${relation}\s+([\s\S]*)$`, 'i');
const indexed = /^create\s+(?:unique\s+)?index\b[\s\S]*?\bon\s+(?:only\s+)?([a-z_]+\.[a-z_]+)/i;
const written = new RegExp(String.raw`^(?:with\b[\s\S]*?\b)?(?:update|delete\s+from|insert\s+into)\s+${relation}`, 'i');
/** Indexes, texts between quotes and statements that only run whole-table work. */
const rewritesAll = /^(?:cluster|vacuum|reindex(?!\s+\w+\s+concurrently)|refresh\s+materialized)\b/i;
const takenAway =
  /^drop\s+(?:table|view|materialized\s+view|schema|function|type|sequence|trigger|rule|domain|column)\b|^alter\s+(?:table|view|index|schema|sequence|type|function)\b[\s\S]*\b(?:rename|set\s+schema)\b/i;

/** A migration, as the rules see it. */
interface File {
  path: string;
  number: number;
  text: string;
  statements: string[];
}

/**
 * Migrations after 0371 neither stop the release that runs beside them nor take away what it reads, and stay as they were when
 * they were committed first. `releases` are those that were made, `firsts` the object ids that git gave the first ones, by path. That none stands before requests while it waits for a lock is seen to by the runner (`kernel/db/migrate.ts`).
 */
export function checkMigrationRules(
  sources: readonly Source[],
  releases: readonly string[],
  firsts: ReadonlyMap<string, string> = new Map(),
): Violation[] {
  const files = sources
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path, text }) => ({
      path,
      text,
      number: Number.parseInt(path.slice(folder.length), 10),
      statements: splitStatements(text),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  const old = new Set<string>();
  const checked = new Set<string>();
  return files.flatMap((file) => {
    const faults = file.number > lastOld ? faultsOf(file, old, checked, releases) : [];
    if (file.number > lastOld && (firsts.get(file.path) ?? objectId(file.text)) !== objectId(file.text))
      faults.push('was changed after its first commit: who ran it cannot start; add a new one instead');
    for (const [, table = ''] of file.text.matchAll(made)) old.add(table.toLowerCase());
    for (const each of validated(file, files)) checked.add(each);
    return faults.map((found) => ({ path: file.path, rule, found }));
  });
}

/** The id that git gives a file of this text. */
export const objectId = (text: string): string =>
  createHash('sha1')
    .update(`blob ${Buffer.byteLength(text)}\0${text}`)
    .digest('hex');

/** `old` has the tables of earlier migrations, `checked` the columns of which earlier ones proved that none is null. */
function faultsOf(
  { text, statements }: File,
  old: ReadonlySet<string>,
  checked: ReadonlySet<string>,
  releases: readonly string[],
): string[] {
  const mark = markOf(text);
  if (!mark)
    return ['its first line is "-- additive" or "-- gone since <release>", then ", concurrently" where that is needed'];
  const faults: string[] = [];
  const isAdditive = mark.oldest === '0.0.0';
  if (!isAdditive && !releases.includes(mark.oldest ?? '')) {
    faults.push(`gone since ${mark.oldest}: no release of CHANGELOG.md, so one that reads it may run`);
  }
  if (mark.concurrently) {
    const others = statements.filter((each) => !concurrentIndex(each));
    return [...faults, ...others.map((each) => `with concurrently indexes alone are made and dropped: ${short(each)}`)];
  }
  const isOld = (table = ''): boolean => old.has(table.toLowerCase());
  for (const statement of statements) {
    const say = (what: string): void => void faults.push(`${what}: ${short(statement)}`);
    if (/\bindex\s+concurrently\b/i.test(statement)) say('concurrently needs the mark in the first line');
    else if (isOld(indexed.exec(statement)?.[1])) say('an index on a table that exists is made concurrently');
    if (/^drop\s+index\b(?!\s+concurrently)/i.test(statement)) say('an index is dropped concurrently');
    if (rewritesAll.test(statement)) say('rewrites a table');
    if (isAdditive && takenAway.test(statement)) say('takes away what the release before may read');
    const [, table = '', actions = ''] = altered.exec(statement) ?? [];
    if (isOld(table)) alterations(table.toLowerCase(), actions, { isAdditive, checked, statements }).forEach(say);
  }
  const alters = statements.some((each) => isOld(altered.exec(each)?.[1]));
  const rows = statements.find((each) => isOld(written.exec(each)?.[1]));
  if (alters && rows)
    faults.push(`rows of a table that exists are changed in a migration of their own: ${short(rows)}`);
  return faults;
}

const constant = String.raw`(?:'(?:[^']|'')*'(?:::[\w\s[\].]+?)?|-?\d+(?:\.\d+)?|true|false|null|now\(\)|current_timestamp|array\[\](?:::[\w\s[\].]+?)?)`;
const constantDefault = new RegExp(String.raw`\bdefault\s+${constant}(?=\s*(?:$|not\b|null\b|check\b|unique\b))`, 'i');

/** The faults of what is done to a table that exists. */
function alterations(
  table: string,
  actions: string,
  { isAdditive, checked, statements }: { isAdditive: boolean; checked: ReadonlySet<string>; statements: string[] },
): string[] {
  return splitActions(actions).flatMap((action) => {
    const faults: string[] = [];
    if (/^add\s+(?:column\s+)?(?!constraint\b|check\b|foreign\b|primary\b|unique\b|exclude\b)/i.test(action)) {
      faults.push(...newColumn(action));
    } else if (/^add\b/i.test(action)) {
      const isScanned = /\b(?:check|foreign\s+key)\b/i.test(action) && !/\bnot\s+valid$/i.test(action);
      if (isScanned) faults.push('a constraint is added "not valid", and validated by a migration after it');
      if (/\b(?:unique|primary\s+key|exclude)\b/i.test(action) && !/\busing\s+index\b/i.test(action))
        faults.push('a constraint of an index is added "using index", which was made concurrently');
      if (isAdditive && !isWidened(table, action, statements))
        faults.push('refuses rows that the release before may write');
    }
    if (/^alter\s+(?:column\s+)?\w+\s+(?:set\s+data\s+)?type\b/i.test(action)) faults.push('rewrites a table');
    if (/^set\s+(?:tablespace|logged|unlogged|access\s+method)\b/i.test(action)) faults.push('rewrites a table');
    const notNull = /^alter\s+(?:column\s+)?(\w+)\s+set\s+not\s+null$/i.exec(action)?.[1];
    if (notNull !== undefined && !checked.has(`${table}.${notNull.toLowerCase()}`))
      faults.push('a column is "not null" once an earlier migration validated a check of it');
    if (
      isAdditive &&
      /^(?:drop\s+(?!constraint\b|not\b)|alter\s+(?:column\s+)?\w+\s+drop\s+(?:default|identity)\b)/i.test(action)
    )
      faults.push('takes away what the release before may read');
    return faults;
  });
}

function newColumn(action: string): string[] {
  const faults: string[] = [];
  const hasDefault = /\bdefault\b/i.test(action);
  if (/\bgenerated\b|\b(?:small|big)?serial\b/i.test(action)) faults.push('rewrites a table');
  if (hasDefault && !constantDefault.test(action)) faults.push('rewrites a table, as its default is no constant');
  if (!hasDefault && /\bnot\s+null\b/i.test(action))
    faults.push('refuses rows of the release before, which has no such column');
  if (/\b(?:references|check|unique|primary\s+key)\b/i.test(action))
    faults.push('a constraint of a new column reads the table: it is added "not valid", in a statement of its own');
  return faults;
}

/** A constraint takes the place of one that the migration drops, which says that it lets more in. */
function isWidened(table: string, action: string, statements: readonly string[]): boolean {
  const name = /^add\s+constraint\s+(\w+)/i.exec(action)?.[1];
  return statements.some((each) => {
    const [, other = '', actions = ''] = altered.exec(each) ?? [];
    const dropped = /\bdrop\s+constraint\s+(?:if\s+exists\s+)?(\w+)/i.exec(actions)?.[1];
    return other.toLowerCase() === table && dropped !== undefined && dropped === name;
  });
}

/** Columns that a validated check keeps from being null, by a migration up to this one. */
function validated({ number, statements }: File, files: readonly File[]): string[] {
  const checks = files
    .filter((each) => each.number <= number)
    .flatMap((each) => [
      ...each.text.matchAll(
        /alter\s+table\s+(\S+)\s+add\s+constraint\s+(\w+)\s+check\s*\(\s*(\w+)\s+is\s+not\s+null\s*\)/gi,
      ),
    ]);
  return statements.flatMap((statement) => {
    const [, table = '', actions = ''] = altered.exec(statement) ?? [];
    const name = /^validate\s+constraint\s+(\w+)$/i.exec(actions.trim())?.[1];
    const check = checks.find(([, of = '', constraint]) => of === table && constraint === name);
    return check ? [`${table}.${check[3] ?? ''}`.toLowerCase()] : [];
  });
}

/** The actions of `alter table`: commas within brackets and texts part none. */
function splitActions(actions: string): string[] {
  const found = [''];
  let depth = 0;
  for (const [part] of actions.matchAll(/'(?:[^']|'')*'|[\s\S]/g)) {
    if (part === '(' || part === '[') depth += 1;
    if (part === ')' || part === ']') depth -= 1;
    if (part === ',' && depth === 0) found.push('');
    else found[found.length - 1] += part;
  }
  return found.map((each) => each.trim());
}

const short = (statement: string): string => statement.replace(/\s+/g, ' ').slice(0, 80);
