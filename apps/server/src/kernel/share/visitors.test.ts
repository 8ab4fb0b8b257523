import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VisitorPlaces } from './visitors.ts';

test('in a full group the oldest place of whoever holds most goes, for one who holds less; whoever holds most is refused', () => {
  const places = new VisitorPlaces();
  const ended: string[] = [];
  const take = (holder: string, port = 'a', what = holder) =>
    places.take(
      [
        { name: `port ${port}`, most: 4, holder },
        { name: 'owner', most: 6, holder },
      ],
      () => ended.push(what),
    );
  for (const n of [1, 2, 3, 4]) assert.ok(take('loud', 'a', `loud ${n}`));
  assert.equal(take('loud'), undefined);
  assert.ok(take('ana'));
  assert.ok(take('ion'));
  assert.deepEqual(ended, ['loud 1', 'loud 2']);
  // Two hold as much as anybody: a third who has none comes in, one who has as much does not.
  assert.ok(take('ana'));
  assert.deepEqual(ended, ['loud 1', 'loud 2', 'loud 3']);
  assert.equal(take('ana'), undefined);
  assert.equal(places.taken('port a'), 4);
});

test('a port without room for somebody ends nothing for the owner’s other ports, and what is given back is free once', () => {
  const places = new VisitorPlaces();
  const ended: string[] = [];
  const take = (holder: string, port: string) =>
    places.take(
      [
        { name: port, most: 2, holder },
        { name: 'owner', most: 3, holder },
      ],
      () => ended.push(`${holder} ${port}`),
    );
  const first = take('a', 'x');
  take('a', 'x');
  take('b', 'y');
  assert.equal(take('a', 'x'), undefined);
  assert.deepEqual(ended, []);
  // One that goes may make room in both.
  assert.ok(take('c', 'x'));
  assert.deepEqual(ended, ['a x']);
  first?.();
  first?.();
  assert.equal(places.taken('owner'), 3);
});
