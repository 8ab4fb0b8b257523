import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places } from './places.ts';

test('an account has its share of the places at most, all together no more than there are, and each is given back once', () => {
  const places = new Places({ total: 5, mostOfOne: 2 });
  const [a1, a2] = [places.take('a'), places.take('a')];
  assert.ok(a1 && a2);
  assert.equal(places.take('a'), undefined);
  const others = ['b', 'b', 'c'].map((account) => places.take(account));
  assert.ok(others.every(Boolean));
  assert.equal(places.take('d'), undefined);
  assert.deepEqual(
    [places.open().total, [...places.open().taken]],
    [
      0,
      [
        ['a', 2],
        ['b', 2],
        ['c', 1],
      ],
    ],
  );
  a1();
  a1();
  assert.equal(places.open().total, 1);
  const d = places.take('d');
  assert.ok(d);
  assert.equal(places.take('a'), undefined);
  for (const giveBack of [a2, d, ...others]) giveBack?.();
  assert.deepEqual([places.open().total, places.open().taken.size], [5, 0]);
});
