import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from './index.ts';
import type { Route } from './route.ts';

test('every POST of a key honours Idempotency-Key, or says why it need not', () => {
  const wrong = Object.entries(contract).flatMap(([feature, verbs]) =>
    Object.entries<Route>(verbs).flatMap(([verb, { method, auth, idempotent, notIdempotent }]) =>
      method === 'POST' && auth === 'key' && (idempotent === true) === (notIdempotent !== undefined)
        ? [`${feature}.${verb}`]
        : [],
    ),
  );
  assert.deepEqual(wrong, []);
});

test('an answer that is shown once is answered again to a repeat of its key', () => {
  const lost = Object.entries(contract).flatMap(([feature, verbs]) =>
    Object.entries<Route>(verbs).flatMap(([verb, { shownOnce, idempotent }]) =>
      shownOnce === true && idempotent !== true ? [`${feature}.${verb}`] : [],
    ),
  );
  assert.deepEqual(lost, []);
});

test('what a page of the hub sends again after a lost answer does nothing twice', () => {
  const { scheduler, schedules, prompts, sandboxes } = contract;
  const resent: Route[] = [
    scheduler.decide,
    scheduler.cancel,
    scheduler.rerun,
    schedules.pause,
    schedules.resume,
    prompts.create,
    sandboxes.remove,
    sandboxes.pause,
    sandboxes.resume,
    sandboxes.fork,
  ];
  assert.deepEqual(
    resent.filter(({ idempotent }) => idempotent !== true).map(({ path }) => path),
    [],
  );
});
