import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { http, openTest } from '../../testing.ts';
import { checkAnswer, isLong, LongAnswer, textOf } from './long.ts';

const word = z.object({ text: z.string(), sure: z.number().nullable(), rare: z.literal(true).optional() });
const said = z.object({ seq: z.int().default(7), words: z.array(word).optional(), note: z.string().nullable() });
const shapes = {
  plain: z.object({ id: z.string(), said: z.array(said).nullable(), none: z.array(word) }),
  strict: z.strictObject({ id: z.string(), said: z.array(said), none: z.array(word).optional() }),
  loose: z.looseObject({ id: z.string(), said: z.array(said.or(z.string())) }),
};

const words = fc.array(
  fc.record({
    text: fc.string(),
    sure: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    extra: fc.nat(),
  }),
  { maxLength: 120 },
);
const bodies = fc.record({
  id: fc.string({ unit: 'grapheme' }),
  said: fc.array(fc.record({ seq: fc.nat(), words, note: fc.option(fc.string()) }, { requiredKeys: ['note'] }), {
    maxLength: 30,
  }),
  none: fc.constant([]),
});

/** Of 4 values for each word. */
const manyWords = (count: number) => ({
  id: 'x',
  said: [{ note: null, words: Array.from({ length: count }, () => ({ text: 'word', sure: 0.5 })) }],
  none: [],
});

describe('a long answer', () => {
  test('is the JSON of what its schema makes of it, whatever it holds', () => {
    fc.assert(
      fc.property(bodies, fc.constantFrom(...Object.values(shapes)), (body, schema) => {
        assert.equal([...textOf(schema, body)].join(''), JSON.stringify(schema.parse(body)));
      }),
      { numRuns: 300 },
    );
  });

  test('that its schema does not have is a fault, however deep', async () => {
    const wrong = manyWords(3_000);
    Object.assign(wrong.said[0]?.words[2_999] ?? {}, { sure: 'very' });
    await assert.rejects(checkAnswer(shapes.plain, wrong), z.ZodError);
    await assert.rejects(checkAnswer(shapes.strict, { ...manyWords(3_000), more: 1 }), z.ZodError);
    assert.ok((await checkAnswer(shapes.plain, manyWords(3_000))) instanceof LongAnswer);
  });

  test('is one of many values or of long texts; a short one is a value as before', async () => {
    assert.deepEqual(
      [isLong(manyWords(1_000)), isLong(manyWords(2_000)), isLong('x'.repeat(400_000))],
      [false, true, true],
    );
    assert.deepEqual(await checkAnswer(word, { text: 'a', sure: null, extra: 1 }), { text: 'a', sure: null });
  });

  test('lets others through while it is made: /health is answered before four of them are', async () => {
    await using t = await openTest();
    const ends: string[] = [];
    const body = manyWords(60_000);
    const long = Array.from({ length: 4 }, async () => {
      await checkAnswer(shapes.plain, body);
      ends.push('long');
    });
    const { status } = await http(t.gateway.url, '/health');
    ends.push('health');
    await Promise.all(long);
    assert.deepEqual([status, ends[0], ends.length], [200, 'health', 5]);
  });
});
