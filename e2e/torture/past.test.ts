import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkPast, past } from './past.ts';

/** One of the kernel, and one with a database; all of them take minutes: `npm run torture -- past`. */
const tried = ['prototype-in-a-body', 'run-held-for-a-minute'];

describe('faults of the past', () => {
  test('each can still be put back: its text stands once in its file', () => {
    const { cases, findings } = checkPast();
    assert.deepEqual(findings, []);
    assert.ok(cases >= 50);
  });

  test('one that is put back is found by the test that is named', async () => {
    const { faults, findings } = await past({ only: tried.join(',') });
    assert.deepEqual(findings, []);
    assert.equal(faults, tried.length);
  });
});
