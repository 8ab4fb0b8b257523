import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { year } from './year.ts';

/** `SVC_TEST_TORTURE=all` for a year, which takes half an hour; else one day. */
const days = process.env['SVC_TEST_TORTURE'] === 'all' ? 365 : 1;

describe('a household', () => {
  test('lives on through faults as its model says: slots, runs, monitors, prompts, what it is told', {
    timeout: 600_000 + days * 90_000,
  }, async () => {
    const { cases, faults, findings } = await year({ days });
    assert.deepEqual(findings, []);
    assert.ok(cases >= 1 && faults >= 1);
  });
});
