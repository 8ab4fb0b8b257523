import type { Run } from './blocks.ts';

/** A cell as a page has it. */
export interface Cell {
  readonly runs: readonly Run[];
  readonly isHead: boolean;
  /** Columns and rows that it covers; rows 0: all that are left of its group. Numbers of the page, not to be trusted. */
  readonly columns: number;
  readonly rows: number;
}

type Row = readonly (readonly Run[])[];

/** What cells that cover others may add to the content of a page, in units; a table of a gigabyte is a line of HTML. */
export class SpanRoom {
  private left = 400_000;
  /** A cell is a step in each row that it covers. */
  private steps = 4_000_000;
  /** A value is asked for in each row that it covers, and counted once. */
  private readonly costs = new WeakMap<readonly Run[], number>();

  /** Whether so many cells more can be placed; they are counted. */
  place(cells: number): boolean {
    this.steps -= cells;
    return this.steps >= 0;
  }

  /** Whether one more value has room; it is taken. */
  take(runs: readonly Run[]): boolean {
    // Beside the text: the tags of a cell, and those of each run.
    const cost =
      this.costs.get(runs) ?? runs.reduce((sum, { text, href = '' }) => sum + text.length + href.length + 64, 8);
    this.costs.set(runs, cost);
    if (cost > this.left) return false;
    this.left -= cost;
    return true;
  }
}

const mostColumns = 1000;
const nothing: readonly Run[] = [];

/** A cell where it stands: from column `from` to before `to`, from row `row` to `last` of its group. */
interface Placed {
  readonly from: number;
  readonly to: number;
  readonly row: number;
  readonly last: number;
  readonly runs: readonly Run[];
}

/** A row as it is read; `isWhole`: one value over all columns, which parts a table and stands once. */
interface SpreadRow {
  readonly values: Row;
  readonly isWhole: boolean;
}

/**
 * The rows of the groups of a table, each value in its columns: one that covers several rows or columns stands in each.
 * A column in which no cell begins is none: what covers more than the table has ends with it. Where the room ends,
 * cells stand as they are written.
 */
export function spread(groups: readonly (readonly (readonly Cell[])[])[], room: SpanRoom): SpreadRow[][] {
  const all = groups.map((rows) => place(rows, room));
  const begun = new Set<number>();
  for (const [n, rows] of all.entries())
    for (const [at, cells] of rows?.entries() ?? [])
      for (const { row, from } of cells) if (row === at && groups[n]?.[at]?.length !== 0) begun.add(from);
  const columns = [...begun].sort((a, b) => a - b);
  return groups.map((rows, n) =>
    rows.map((cells, at) => {
      const placed = all[n]?.[at];
      const written = { values: cells.map(({ runs }) => runs), isWhole: false };
      if (!placed || cells.length === 0) return written;
      const [only] = placed;
      const isWhole = placed.length === 1 && columns.length > 1 && only?.from === 0 && only.row === at;
      if (isWhole && only.to > (columns.at(-1) ?? 0)) return { ...written, isWhole };
      return { values: valuesOf(placed, { at, columns, room }) ?? written.values, isWhole: false };
    }),
  );
}

/** The values of a row; undefined: there is no room for them. */
function valuesOf(
  placed: readonly Placed[],
  { at, columns, room }: { at: number; columns: readonly number[]; room: SpanRoom },
): (readonly Run[])[] | undefined {
  const values: (readonly Run[])[] = [];
  for (const { from, to, row, runs } of placed) {
    for (let column = columns[values.length]; column !== undefined && column < from; column = columns[values.length]) {
      if (!room.take(nothing)) return undefined;
      values.push(nothing);
    }
    for (let column = columns[values.length]; column !== undefined && column < to; column = columns[values.length]) {
      const isOwn = row === at && column === from;
      if (!isOwn && !room.take(runs)) return undefined;
      values.push(runs);
    }
  }
  return values;
}

/** Where the cells of a group stand, row by row, with those from above; undefined: they are too many. */
function place(rows: readonly (readonly Cell[])[], room: SpanRoom): Placed[][] | undefined {
  let above: Placed[] = [];
  const all: Placed[][] = [];
  for (const [row, cells] of rows.entries()) {
    if (!room.place(above.length + cells.length + 1)) return undefined;
    const placed: Placed[] = [];
    let column = 0;
    let next = 0;
    /** Passes what stands above at this column. */
    const pass = (): void => {
      for (let one = above[next]; one !== undefined && one.from <= column; one = above[++next]) {
        placed.push(one);
        column = Math.max(column, one.to);
      }
    };
    for (const { runs, ...cell } of cells) {
      pass();
      // A cell from above ends what would cover it; past the most columns each has one.
      const end = Math.min(column + cell.columns, above[next]?.from ?? Infinity);
      const to = Math.min(end, Math.max(mostColumns, column + 1));
      const many = cell.rows === 0 ? rows.length : cell.rows;
      placed.push({ from: column, to, row, last: Math.min(row + many, rows.length) - 1, runs });
      column = to;
    }
    placed.push(...above.slice(next));
    all.push(placed);
    above = placed.filter(({ last }) => last > row);
  }
  return all;
}

/** Heads of several rows as one: for each column what stands over it, from top to bottom, each value once. */
export function joinHeads(rows: readonly Row[]): Row {
  const columns: Map<string, readonly Run[]>[] = [];
  for (const row of rows)
    for (const [column, runs] of row.entries()) {
      const own = (columns[column] ??= new Map());
      const text = runs.map((run) => run.text).join('');
      if (runs.length > 0 && !own.has(text)) own.set(text, runs);
    }
  return columns.map((own) => [...own.values()].flatMap((runs, at) => (at === 0 ? runs : [{ text: ' ' }, ...runs])));
}
