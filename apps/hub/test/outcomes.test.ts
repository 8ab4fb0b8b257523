import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf } from '../src/pages/machines/execs.rules.ts';
import { statusOf } from '../src/push.note.rules.ts';
import { done, refused, type Said } from '../src/ui/outcomes.ts';

test('a command that its machine refused, or that failed, is not done', () => {
  const table = [
    [{ state: 'done', ok: true, exit_code: 0 }, 'done'],
    [{ state: 'done', ok: true }, 'done'],
    [{ state: 'done', ok: true, exit_code: 3 }, 'failed'],
    [{ state: 'done', ok: false, error: 'needs_approval: nobody answered' }, 'refused'],
    [{ state: 'done', ok: false, error: 'refused_by_policy' }, 'refused'],
    [{ state: 'done', ok: false, error: 'ENOENT' }, 'failed'],
    [{ state: 'unknown' }, 'unknown'],
  ] as const;
  for (const [exec, outcome] of table) assert.equal(outcomeOf(exec), outcome, JSON.stringify(exec));
});

test('a button of a notification whose answer says that nothing was begun is refused', () => {
  assert.deepEqual(
    [statusOf(202, { queued: false }), statusOf(202, { queued: true }), statusOf(200, undefined)],
    [422, 202, 200],
  );
});

test('a text alone cannot stand for an answer that tells more than that it came', () => {
  // These are errors of types: without the line above each, the lint fails.
  // @ts-expect-error an answer that says whether it was queued
  const queued: Said<{ queued: boolean }> = 'It runs again';
  // @ts-expect-error one of several words
  const state: Said<'on' | 'denied'> = 'On';
  // @ts-expect-error a yes or no
  const isDone: Said<boolean> = 'Done';
  const looked: Said<{ queued: boolean }> = (result) => (result.queued ? done('It runs') : refused('It does not'));
  const record: Said<{ id: string }> = 'Saved';
  assert.equal([queued, state, isDone, looked, record].length, 5);
});
