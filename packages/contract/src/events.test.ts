import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change, topics } from './events.ts';

const told = { cursor: 'A'.repeat(32), op: 'updated', id: 'x', at: '2026-11-30T12:00:00.000Z' } as const;

test('a change has a shape for each topic, and none for another', () => {
  assert.deepEqual(
    change.options.map(({ shape }) => [...shape.topic.values][0]),
    [...topics],
  );
  assert.equal(change.safeParse({ ...told, topic: 'dreams' }).success, false);
});

test('a record that another release wrote is passed on as it is, so that no change hides those after it', () => {
  const record = { prompt: 1, of: 'another release' };
  assert.deepEqual(change.parse({ ...told, topic: 'prompts', record }).record, record);
});
