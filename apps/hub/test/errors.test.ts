import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodes as errors } from '@svc/contract';
import { errorsEn } from '../src/words/en.errors.ts';

/** Of routes that machines and clients call, or that the hub calls so that they cannot come. */
const unmet = [
  'content_type',
  'exec_over',
  'exec_taken',
  'invalid_count',
  'invalid_ttl',
  'misdirected_request',
  'not_supported_on_v1',
  'not_supported_on_v2',
  'range_not_satisfiable',
  'seq_conflict',
  'tus_version',
];

test('every code of the API that a person can meet has words of the hub, and no words are for a code that is none', () => {
  const known = Object.keys(errors).filter((code) => !unmet.includes(code));
  assert.deepEqual(Object.keys(errorsEn.codes).toSorted(), known.toSorted());
});
