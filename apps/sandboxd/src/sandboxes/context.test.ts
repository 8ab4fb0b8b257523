import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Context, type Entry, occupy, usedSlots } from './context.ts';
import type { Live } from './instances.ts';

const entry = (live?: Live): Entry =>
  ({ record: {}, live, busy: undefined, ports: new Set(), queue: Promise.resolve() }) as unknown as Entry;

test('what gave a sandbox back does not take it from the next', () => {
  const one = entry();
  const release = occupy(one, 'fork');
  release();
  occupy(one, 'command');
  release();
  assert.throws(() => occupy(one, 'cell'), { code: 'sandbox_busy' });
});

test('a sandbox takes one slot from the beginning of its start on', () => {
  const context = { entries: new Map<string, Entry>(), creating: new Map() } as unknown as Context;
  context.creating.set('new', Promise.resolve());
  context.entries.set('paused', entry());
  context.creating.set('paused', Promise.resolve());
  assert.equal(usedSlots(context), 2);
  for (const id of ['new', 'paused']) context.entries.set(id, entry({} as Live));
  assert.equal(usedSlots(context), 2);
  context.creating.clear();
  assert.equal(usedSlots(context), 2);
});
