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

  /** Whether one more value has room; it is taken. */
  take(runs: readonly Run[]): boolean {
    // Beside the text: the tags of a cell, and those of each run.
    const cost = runs.reduce((sum, { text, href = '' }) => sum + text.length + href.length + 64, 8);
    if (cost > this.left) return false;
    this.left -= cost;
    return true;
  }
}

const mostColumns = 1000;
const nothing: readonly Run[] = [];

/**
 * The rows of a group of a table, each value in its columns: one that covers several rows or columns stands in each. One
 * that covers a whole row stands once, as what parts a table. Where the room ends, cells stand as they are written.
 */
export function spread(rows: readonly (readonly Cell[])[], width: number, room: SpanRoom): Row[] {
  let over: { runs: readonly Run[]; left: number }[] = [];
  return rows.map((cells, at) => {
    const row: (readonly Run[])[] = [];
    const next: typeof over = [];
    /** What cells above put into the columns from here. */
    const fill = (isEnd: boolean): void => {
      const isOver = (): boolean => over[row.length] !== undefined || (isEnd && over.length > row.length);
      while (isOver()) {
        const above = over[row.length];
        const runs = above?.runs ?? nothing;
        if (!room.take(runs)) return void (over = []);
        if (above !== undefined && above.left > 1) next[row.length] = { runs, left: above.left - 1 };
        row.push(runs);
      }
    };
    for (const { runs, ...cell } of cells) {
      fill(false);
      const isWhole = cells.length === 1 && row.length === 0 && cell.columns >= width;
      const columns = isWhole ? 1 : Math.min(cell.columns, Math.max(1, mostColumns - row.length));
      const left = Math.min(cell.rows === 0 ? Infinity : cell.rows, rows.length - at) - 1;
      for (let column = 0; column < columns; column += 1) {
        if (column > 0 && !room.take(runs)) break;
        if (left > 0) next[row.length] = { runs, left };
        row.push(runs);
      }
    }
    if (cells.length > 0) fill(true);
    // A row that is covered wholly from above has no cells, and what covers it goes on below.
    else over.forEach(({ runs, left }, column) => left > 1 && (next[column] = { runs, left: left - 1 }));
    over = next;
    return row;
  });
}

/** Columns of the widest row as it is written. */
export const widthOf = (rows: readonly (readonly Cell[])[]): number =>
  rows.reduce(
    (most, cells) =>
      Math.max(
        most,
        cells.reduce((sum, { columns }) => sum + columns, 0),
      ),
    0,
  );

/** Heads of several rows as one: for each column what stands over it, from top to bottom, each value once. */
export function joinHeads(rows: readonly Row[]): Row {
  const columns: Set<readonly Run[]>[] = [];
  for (const row of rows)
    for (const [column, runs] of row.entries()) {
      const own = (columns[column] ??= new Set());
      if (runs.length > 0) own.add(runs);
    }
  return columns.map((own) => [...own].flatMap((runs, at) => (at === 0 ? runs : [{ text: ' ' }, ...runs])));
}
