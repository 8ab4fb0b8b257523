/**
 * For each row the column that it gets, or -1: one to one, with the greatest sum of weights (Hungarian method, O(n² m)).
 * Weights are 0 or more; what is no such number counts as 0. A pair of weight 0 is no pair.
 */
export function assign(weights: readonly (readonly number[])[]): number[] {
  const rows = weights.length;
  const columns = Math.max(0, ...weights.map((row) => row.length));
  if (rows === 0 || columns === 0) return weights.map(() => -1);
  const weight = (row: number, column: number): number => {
    const given = weights[row]?.[column] ?? 0;
    return given > 0 && given < Infinity ? given : 0;
  };
  if (rows <= columns) {
    return cheapest(rows, columns, (row, column) => -weight(row, column)).map((column, row) =>
      weight(row, column) > 0 ? column : -1,
    );
  }
  const found = weights.map(() => -1);
  for (const [column, row] of cheapest(columns, rows, (column, row) => -weight(row, column)).entries()) {
    if (weight(row, column) > 0) found[row] = column;
  }
  return found;
}

/** The column of each row at the least sum of costs; `rows` <= `columns`. Row and column 0 of the tables are sentinels. */
function cheapest(rows: number, columns: number, cost: (row: number, column: number) => number): number[] {
  const ofRow = new Float64Array(rows + 1);
  const ofColumn = new Float64Array(columns + 1);
  const holder = new Int32Array(columns + 1);
  const way = new Int32Array(columns + 1);
  for (let row = 1; row <= rows; row += 1) {
    holder[0] = row;
    const least = new Float64Array(columns + 1).fill(Infinity);
    const used = new Uint8Array(columns + 1);
    let at = 0;
    do {
      used[at] = 1;
      const held = holder[at] as number;
      let delta = Infinity;
      let next = 0;
      for (let column = 1; column <= columns; column += 1) {
        if (used[column]) continue;
        const reduced = cost(held - 1, column - 1) - (ofRow[held] as number) - (ofColumn[column] as number);
        if (reduced < (least[column] as number)) {
          least[column] = reduced;
          way[column] = at;
        }
        if ((least[column] as number) < delta) {
          delta = least[column] as number;
          next = column;
        }
      }
      for (let column = 0; column <= columns; column += 1) {
        if (used[column]) {
          ofRow[holder[column] as number] = (ofRow[holder[column] as number] as number) + delta;
          ofColumn[column] = (ofColumn[column] as number) - delta;
        } else least[column] = (least[column] as number) - delta;
      }
      at = next;
    } while (holder[at] !== 0);
    for (; at !== 0; at = way[at] as number) holder[at] = holder[way[at] as number] as number;
  }
  const found = Array.from({ length: rows }, () => -1);
  for (let column = 1; column <= columns; column += 1) {
    const row = holder[column] as number;
    if (row > 0) found[row - 1] = column - 1;
  }
  return found;
}
