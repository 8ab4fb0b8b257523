import type { Sql } from '../../apps/server/src/kernel/db/db.ts';
import { ApiError } from '../../apps/server/src/kernel/base/errors.ts';
import type { Kernel } from '../../apps/server/src/kernel/kernel.ts';

/** A table of moves, with rows that can be made in any state and moved by the functions of the product. */
export interface Subject {
  /** `schema.table`, and a word where there are several kinds of rows. */
  readonly table: string;
  /** Whether each move is a single statement, and not a transaction that locks, looks and writes. */
  readonly isSingle?: boolean;
  /** Sentences of invariants that whole operations hold, and a move by itself does not. */
  readonly beside?: readonly string[];
  /** Moves by their names, with a word that says how, where a move may end in several states. */
  readonly moves: readonly string[];
  /** States that can be made here, in which the move is possible. */
  readonly from: (move: string) => readonly string[];
  /** Makes a row in a state, of which the moves may be tried: what guards ask for is there. Answers its id. */
  make(state: string, moves: readonly string[]): Promise<string>;
  /** Does the move in one transaction of this pool; answers the state that the row is in then, or `refused`. */
  perform(sql: Sql, id: string, move: string): Promise<string>;
  /** The row as text, without what is new in each: ids and random bytes. */
  row(id: string): Promise<string>;
}

/** A move, and where a row goes by it. */
export interface Edge {
  /** Name of the move, then a word. */
  readonly move: string;
  readonly from: readonly string[];
  readonly to: string;
}

interface Outcomes {
  readonly from: readonly string[];
  readonly outcomes: readonly { readonly to: string }[];
}

/**
 * The edges of a table of moves. `words` says for moves that may end in several states with which word they end where; of
 * the others it is the first outcome.
 */
export const edgesOf = (
  { moves }: { readonly moves: Readonly<Record<string, Outcomes>> },
  words: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): Edge[] =>
  Object.entries(moves)
    .filter(([, { from }]) => from.length > 0)
    .flatMap(([name, { from, outcomes }]) =>
      words[name] === undefined
        ? [{ move: name, from, to: outcomes[0]?.to ?? '' }]
        : Object.entries(words[name]).map(([word, to]) => ({ move: `${name} ${word}`, from, to })),
    );

/** The shortest way of moves to every state. */
function waysFrom(first: string, edges: readonly Edge[]): ReadonlyMap<string, readonly string[]> {
  const ways = new Map<string, readonly string[]>([[first, []]]);
  for (const [at, way] of ways) {
    for (const { move, from, to } of edges) if (from.includes(at) && !ways.has(to)) ways.set(to, [...way, move]);
  }
  return ways;
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Numbers that count up over all rows, and what is random. */
const always = new Set(['ordinal', 'order_no', 'token_hash', 'text_hash', 'prefix_hash', 'frame', 'prompt', 'slug']);

/** A row as text that is the same for two rows of the same fate. */
async function rowText(sql: Sql, table: string, id: string): Promise<string> {
  const [found] = await sql.unsafe<{ row: Record<string, unknown> }[]>(
    `select to_json(t) as row from ${table} t where id = $1`,
    [id],
  );
  if (!found) return 'gone';
  const kept = Object.entries(found.row).filter(([name]) => !always.has(name));
  return JSON.stringify(Object.fromEntries(kept)).replaceAll(uuid, '#');
}

/** The parts of a subject that differ. */
interface Parts {
  readonly table: string;
  readonly kind?: string;
  readonly isSingle?: boolean;
  readonly beside?: readonly string[];
  readonly edges: readonly Edge[];
  /** The state of a new row. */
  readonly first: string;
  /** The column of the state, where it has another name. */
  readonly column?: string;
  /** Makes a row in the first state. */
  create(): Promise<string>;
  /** Does the move; throws an error of the API, or answers undefined, where it is refused. */
  perform(sql: Sql, id: string, move: string): Promise<string | undefined>;
  /** Before a row is led through a move, and before the moves that are tried: has its guards hold. */
  ready?(id: string, moves: readonly string[]): Promise<unknown>;
}

/** Puts a subject together. `sql` is not held by a gate. */
export function subjectOf(
  sql: Sql,
  { table, kind, edges, first, column = 'state', create, perform, ready, ...rest }: Parts,
): Subject {
  const ways = waysFrom(first, edges);
  const tryMove = async (by: Sql, id: string, move: string): Promise<string> => {
    try {
      return (await perform(by, id, move)) ?? 'refused';
    } catch (error) {
      if (error instanceof ApiError && error.code !== 'unavailable') return 'refused';
      throw error;
    }
  };
  return {
    ...rest,
    table: kind === undefined ? table : `${table} (${kind})`,
    moves: edges.map(({ move }) => move),
    from: (move) => (edges.find((edge) => edge.move === move)?.from ?? []).filter((state) => ways.has(state)),
    async make(state, moves) {
      const id = await create();
      for (const move of ways.get(state) ?? []) {
        await ready?.(id, [move]);
        await tryMove(sql, id, move);
      }
      const [row] = await sql.unsafe<{ at: string }[]>(`select ${column} as at from ${table} where id = $1`, [id]);
      if (row?.at !== state) throw new Error(`${table} came to ${row?.at}, not to ${state}`);
      await ready?.(id, moves);
      return id;
    },
    perform: tryMove,
    row: (id) => rowText(sql, table, id),
  };
}

/** The same kernel on another pool, of one connection. */
export const kernelOn = (kernel: Kernel, sql: Sql): Kernel => ({ ...kernel, sql, background: sql });
