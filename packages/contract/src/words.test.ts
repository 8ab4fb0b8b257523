import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { contract, newSchedule, wordsFor } from './index.ts';

/** The library's own sentences begin like this. */
const foreign = /^(?:Invalid|Too (?:big|small)|Expected|Unrecognized|Required)/;
const junk = [
  undefined,
  null,
  0,
  -1,
  1.5,
  1e300,
  '',
  'x',
  'x'.repeat(100_000),
  true,
  [],
  [null],
  {},
  { x: 1 },
  Number.NaN,
];

function messagesOf(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value, { error: wordsFor });
  const flat = (issues: readonly z.core.$ZodIssue[]): string[] =>
    issues.flatMap((issue) => [issue.message, ...('errors' in issue ? issue.errors.flatMap(flat) : [])]);
  return flat(error?.issues ?? []);
}

describe('what a schema says of a value that it refuses', () => {
  test("is in the house's words, for every field of every route", () => {
    const routes = Object.values(contract).flatMap((feature) => Object.values(feature));
    let seen = 0;
    for (const { takes, params, query, headers } of routes) {
      const schemas = [takes?.kind === 'json' ? takes.schema : undefined, params, query, headers];
      for (const schema of schemas.filter((each) => each !== undefined)) {
        const shape = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
        const values = [...junk, ...shape.flatMap((name) => junk.map((value) => ({ [name]: value })))];
        for (const message of values.flatMap((value) => messagesOf(schema, value))) {
          assert.doesNotMatch(message, foreign);
          seen += 1;
        }
      }
    }
    assert.ok(seen > 1_000, String(seen));
  });

  test('says what is missing, of which kind it must be, how long, and which values there are', () => {
    const schema = z.object({ name: z.string().min(2), count: z.int().max(9), kind: z.enum(['a', 'b']), id: z.guid() });
    assert.deepEqual(messagesOf(schema, {}), ['is required', 'is required', 'must be one of: a, b', 'is required']);
    assert.deepEqual(messagesOf(schema, { name: 'x', count: 10, kind: 'c', id: 'x' }), [
      'must have at least 2 characters',
      'must be at most 9',
      'must be one of: a, b',
      'must be a uuid',
    ]);
    assert.deepEqual(messagesOf(schema, []), ['must be an object']);
    const forms = z.discriminatedUnion('type', [
      z.object({ type: z.literal('a') }),
      z.object({ type: z.literal('b') }),
    ]);
    assert.deepEqual(messagesOf(forms, { type: 'c' }), ['must be one of: a, b']);
    assert.deepEqual(messagesOf(forms, {}), ['must be one of: a, b']);
    assert.deepEqual(messagesOf(z.array(z.string()).min(1), []), ['must have at least 1 entry']);
    assert.ok(messagesOf(newSchedule, { name: 'x' }).every((message) => !foreign.test(message)));
  });
});
