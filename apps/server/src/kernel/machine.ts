import type { Db, Fragment } from './db/db.ts';
import type { Instant } from './db/instant.ts';
import { fragmentOf } from './db/statement.ts';

/** A state, in the words of its feature's README. */
interface StateLines<Group extends string> {
  /** The fact that holds for a row in this state. */
  readonly means: string;
  /** Who leaves it, and when; null: nobody, it is final. */
  readonly left: string | null;
  /** The groups that queries ask for it by. */
  readonly in?: readonly Group[];
}

/** The states of a machine. Queries take them from here, by group, and name none themselves. */
interface States<S extends string = string, Group extends string = string> {
  readonly lines: Readonly<Record<S, StateLines<Group>>>;
  readonly names: readonly S[];
  /** The states of a group. */
  where(group: Group): readonly S[];
  /**
   * The same as a part of a query: `state in ${states.sql('live')(db)}`. As text: a plan that does not know the states
   * cannot use the partial indexes.
   */
  sql(group: Group): (db: Db) => Fragment;
  /** Whether no move leaves it. */
  isFinal(state: S): boolean;
}

/** Declares the states of a machine. */
export function statesOf<S extends string, Group extends string = never>(
  lines: Readonly<Record<S, StateLines<Group>>>,
): States<S, Group> {
  const names = Object.keys(lines) as S[];
  const groups = new Map(
    names
      .flatMap((name) => lines[name].in ?? [])
      .map((group) => {
        const states = names.filter((name) => lines[name].in?.includes(group));
        return [group, { states, sql: fragmentOf(listText(states)) }];
      }),
  );
  const groupOf = (group: Group) => groups.get(group) ?? { states: [], sql: fragmentOf(listText([])) };
  return {
    lines,
    names,
    where: (group) => groupOf(group).states,
    sql: (group) => groupOf(group).sql,
    isFinal: (state) => lines[state].left === null,
  };
}

/** States as the text of a query; `(null)` holds for none. */
export const listText = (states: readonly string[]): string =>
  states.length === 0 ? '(null)' : `(${states.map((state) => `'${state}'`).join(', ')})`;

/** Where a move goes that deletes the row. */
export type Gone = 'gone';

/** The README's text for a guard or an effect. */
export interface Said {
  readonly says: string;
}

/** One of the ways in which a move may end. */
interface Outcome<S extends string, Q extends Said, E extends Said> {
  readonly to: S | Gone;
  /** The first outcome whose `when` holds is taken; without one it always does. */
  readonly when?: Q;
  readonly effects?: readonly E[];
}

/** A line of the table: from where, under which guards, to where, and what changes besides the state. */
interface Move<S extends string = string, Q extends Said = Said, E extends Said = Said> {
  /** Empty: the move creates the row. */
  readonly from: readonly S[];
  /** All of them must hold. */
  readonly guards?: readonly Q[];
  /** A condition that the caller checks itself, such as the statement that claims. */
  readonly checkedThere?: string;
  readonly outcomes: readonly Outcome<S, Q, E>[];
  /** Of every outcome. */
  readonly effects?: readonly E[];
}

/** The states of a table's rows, and every move between them. Nothing else sets a state. */
export interface Machine<
  S extends string = string,
  Moves extends Readonly<Record<string, Move<S>>> = Readonly<Record<string, Move<S>>>,
> {
  /** `schema.table`. */
  readonly table: string;
  readonly states: Pick<States<S>, 'lines' | 'names' | 'isFinal'>;
  readonly moves: Moves;
}

/** Declares a machine. Throws when a state that somebody leaves has no move, or a final one has: the table is wrong then. */
export function machine<S extends string, Moves extends Readonly<Record<string, Move<S>>>>(
  given: Machine<S, Moves>,
): Machine<S, Moves> {
  const { table, states, moves } = given;
  const movable = new Set(
    Object.values(moves).flatMap(({ from, outcomes }) =>
      from.filter((state) => outcomes.some(({ to }) => to !== state)),
    ),
  );
  for (const state of states.names) {
    if (movable.has(state) === states.isFinal(state))
      throw new Error(`${table}: who leaves ${state} is not what its moves say`);
  }
  return given;
}

/** A guard that looks at the row, which is locked, and at what the caller gives. */
interface Guard<R, G> extends Said {
  readonly holds: (row: R, given: G, now: Instant) => boolean;
}
/** The columns that a move changes in it. */
interface Effect<R, G, C> extends Said {
  readonly columns: (row: R, given: G, now: Instant) => C;
}
/** A move of a row that its caller has locked. */
export interface RowMove<S extends string, R, G, C> extends Move<S, Guard<R, G>, Effect<R, G, C>> {}

/** The input of a row move. */
export type GivenOf<M> = M extends RowMove<infer _S, infer _R, infer G, infer _C> ? G : never;

/** Makers of a machine's parts, typed by its rows. */
interface Parts<S extends string, R, C> {
  readonly guard: <G = unknown, Row = R>(says: string, holds: Guard<Row, G>['holds']) => Guard<Row, G>;
  readonly effect: <G = unknown, Row = unknown>(
    says: string,
    columns: Effect<Row, G, C>['columns'],
  ) => Effect<Row, G, C>;
  /** A move that may end in several states. */
  readonly move: <G = unknown, Row = R>(row: RowMove<S, Row, G, C>) => RowMove<S, Row, G, C>;
  /** A move to one state. */
  readonly to: <G = unknown, Row = R>(to: S, row: Omit<RowMove<S, Row, G, C>, 'outcomes'>) => MoveTo<S, Row, G, C>;
}
type MoveTo<S extends string, R, G, C> = RowMove<S, R, G, C> & {
  readonly outcomes: readonly [Outcome<S, Guard<R, G>, Effect<R, G, C>> & { readonly to: S }];
};

/** Makes the parts of a machine whose moves are columns of a locked row. */
export const partsOf = <S extends string, R, C>(): Parts<S, R, C> => ({
  guard: (says, holds) => ({ says, holds }),
  effect: (says, columns) => ({ says, columns }),
  move: (row) => row,
  to: (to, { effects = [], ...row }) => ({ ...row, outcomes: [{ to, effects }] }),
});

/** The columns that a move changes, the state among them; undefined when the table does not allow it to the row as it is. */
export function columnsOf<S extends string, R extends { state: S }, G, C extends object>(
  move: RowMove<S, R, G, C>,
  row: R,
  given: G,
  now: Instant,
): (C & { state: S }) | undefined {
  if (!move.from.includes(row.state)) return undefined;
  if (move.guards?.some(({ holds }) => !holds(row, given, now))) return undefined;
  return columnsWithout(move, row, given, now);
}

/** The same for a row that is created, or moved by a statement that asks for state and guards itself. */
export function columnsWithout<S extends string, R, G, C extends object>(
  { outcomes, effects = [] }: RowMove<S, R, G, C>,
  row: R,
  given: G,
  now: Instant,
): C & { state: S } {
  const outcome = outcomes.find(({ when }) => when === undefined || when.holds(row, given, now));
  const all = [...(outcome?.effects ?? []), ...effects];
  return Object.assign(
    { state: outcome?.to } as C & { state: S },
    ...all.map(({ columns }) => columns(row, given, now)),
  );
}

/** The table as the README shows it: a line for each move, and one for each outcome of a move that has several. */
export function linesOf({ moves }: Machine): string[][] {
  return Object.entries(moves).flatMap(([name, { from, guards = [], checkedThere, outcomes, effects = [] }]) => {
    const condition = [...guards.map(({ says }) => says), ...(checkedThere === undefined ? [] : [checkedThere])].join(
      '; ',
    );
    const changes = (all: readonly Said[]) => all.flatMap(({ says }) => (says === '' ? [] : [says])).join('; ');
    const start = [name, from.join(', ') || '(none)'];
    const [first, ...rest] = outcomes;
    if (first && rest.length === 0)
      return [[...start, first.to, condition, changes([...(first.effects ?? []), ...effects])]];
    const ends = outcomes.map(({ to, when, effects: own = [] }) => ['', '', to, when?.says ?? 'else', changes(own)]);
    return [[...start, '', condition, changes(effects)], ...ends];
  });
}
