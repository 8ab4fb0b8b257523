import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assign } from './assignment.ts';

const size = fc.integer({ min: 1, max: 6 });
const table = fc.tuple(size, size).chain(([rows, columns]) =>
  fc.array(fc.array(fc.integer({ min: 0, max: 20 }), { minLength: columns, maxLength: columns }), {
    minLength: rows,
    maxLength: rows,
  }),
);

/** The greatest sum, by trying everything. */
function greatest(weights: number[][], row = 0, taken = new Set<number>()): number {
  if (row === weights.length) return 0;
  let best = greatest(weights, row + 1, taken);
  for (const [column, weight] of (weights[row] ?? []).entries()) {
    if (!taken.has(column)) best = Math.max(best, weight + greatest(weights, row + 1, new Set(taken).add(column)));
  }
  return best;
}

describe('an assignment', () => {
  test('is one to one, has no pair of weight 0, and no other has a greater sum', () => {
    fc.assert(
      fc.property(table, (weights) => {
        const found = assign(weights);
        const pairs = found.flatMap((column, row) => (column < 0 ? [] : [[row, column] as const]));
        assert.equal(found.length, weights.length);
        assert.equal(new Set(pairs.map(([, column]) => column)).size, pairs.length);
        const each = pairs.map(([row, column]) => weights[row]?.[column] ?? 0);
        assert.ok(each.every((weight) => weight > 0));
        assert.equal(
          each.reduce((sum, weight) => sum + weight, 0),
          greatest(weights),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('takes weights that are no numbers of 0 or more for 0', () => {
    assert.deepEqual(assign([[Number.NaN, Infinity, -5, 1]]), [3]);
    assert.deepEqual(assign([]), []);
    assert.deepEqual(assign([[], []]), [-1, -1]);
  });
});
