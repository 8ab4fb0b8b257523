import { isTest, type Source, type Violation } from './source.ts';

/** A table with a state machine, as its feature's manifest lists it. */
export interface Stateful {
  /** `schema.table`. */
  table: string;
  states: readonly string[];
}

/** A state, which monitors call status, in the columns of a query (what a condition compares follows a `where`), and one in an object that is no type. */
const stateInColumns = /\b(?:set|,)\s+(?:\w+\.)?stat(?:e|us)\s*=(?!=)\s*'[a-z_]+'|`\s*stat(?:e|us)\s*=\s*'[a-z_]+'\s*,/;
const stateInObject = /\b(?:state|status|to):\s*(?:[^,;{}()|]*\?[^,;{}()|]*)?'([a-z_]+)'(?:\s+as\s+const)?(?!\s*[|;])/g;
const insertion = /\binsert\s+into\s+([a-z_]+\.[a-z_]+)[^`]*/g;

/** A list of states in a query: groups of states are named where the states are. */
const listedStates = /\bstat(?:e|us)\s+(?:not\s+)?in\s*\(\s*'[a-z_]+'\s*,/;

/** The states of a machine are set by its moves (`*.moves.ts`), and queries ask for them by group. */
export function checkStates(sources: readonly Source[], machines: readonly Stateful[]): Violation[] {
  return machines.flatMap(({ table, states }) => {
    const folder = `apps/server/src/features/${table.split('.')[0]}/`;
    return sources.flatMap(({ path, text }) => {
      if (!path.startsWith(folder) || !path.endsWith('.ts') || path.endsWith('.moves.ts') || isTest(path)) return [];
      const isState = (found: string): boolean =>
        [...found.matchAll(/'([a-z_]+)'/g)].some(([, s = '']) => states.includes(s));
      const set = [
        ...(stateInColumns.exec(text) ?? []),
        ...[...text.matchAll(stateInObject)].map(([all]) => all),
        ...[...text.matchAll(insertion)].filter(([, into]) => into === table).map(([all]) => all),
      ].filter(isState);
      const listed = (listedStates.exec(text) ?? []).filter(isState);
      return [
        ...set.map((each) => ({ path, rule: `states of ${table} are set by its moves`, found: each.trim() })),
        ...listed.map((each) => ({ path, rule: `states of ${table} are asked for by group`, found: each })),
      ];
    });
  });
}
