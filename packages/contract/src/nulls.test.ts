import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { contract, Json, newSchedule, type Route, withoutNulls } from './index.ts';
import { docOf } from './docs/index.ts';
import { withNulls } from './nulls.testing.ts';

/** The value without its nulls. */
const set = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, part: unknown) => part ?? undefined));

describe('null for an optional field of a request', () => {
  test('is as good as leaving it out, in the body of every operation and at every depth', () => {
    let nulls = 0;
    for (const [feature, routes] of Object.entries(contract)) {
      for (const [verb, route] of Object.entries(routes as Record<string, Route>)) {
        if (!(route.takes instanceof Json)) continue;
        const { schema } = route.takes;
        const { body } = docOf(feature, verb).example;
        const filled = withNulls(schema, body);
        nulls += JSON.stringify(filled).split('null').length - JSON.stringify(body).split('null').length;
        const { data, error } = schema.safeParse(withoutNulls(schema, filled));
        assert.equal(error?.message, undefined, `${feature}.${verb}`);
        // Where null has a meaning of its own it stays.
        assert.deepEqual(set(data), set(schema.parse(body)), `${feature}.${verb}`);
      }
    }
    assert.ok(nulls > 80, String(nulls));
  });

  test('stays data in free-form JSON, a meaning where there is one, and a fault in a required field', () => {
    const { exec, result } = contract.hosts;
    const call = { op: 'x', args: { a: null, b: { c: null } }, timeout_ms: null, mine: null };
    const { timeout_ms: _, ...kept } = call;
    assert.deepEqual(withoutNulls(exec.takes.schema, call), kept);
    assert.deepEqual(withoutNulls(result.takes.schema, { ok: true, result: null, error: null }), {
      ok: true,
      result: null,
    });
    const update = contract.keys.update.takes.schema;
    assert.deepEqual(withoutNulls(update, { models: null, scopes: null }), { models: null });
    assert.equal(update.safeParse(withoutNulls(update, { status: null })).success, false, 'nothing is left to change');
    const base = { name: 'x', kind: 'shell', trigger: { type: 'interval', every_s: 1 } };
    for (const wrong of [
      { ...base, name: null, spec: { command: 'x' } },
      { ...base, spec: null },
      { ...base, spec: { command: null } },
      { ...base, spec: { command: 'x', env_names: [null] } },
      { ...base, kind: null, spec: { command: 'x' } },
      { ...base, trigger: { type: 'interval', every_s: null }, spec: { command: 'x' } },
    ]) {
      assert.equal(newSchedule.safeParse(withoutNulls(newSchedule, wrong)).success, false, JSON.stringify(wrong));
    }
  });

  test('a value that is not of its type is left to the schema', () => {
    const schema = z.object({
      list: z.array(z.object({ a: z.string().optional() })),
      or: z.union([z.string(), z.int()]),
    });
    for (const value of [null, 1, 'x', [], [null], { list: null }, { list: {} }, { list: [null, 1, []], or: {} }]) {
      assert.deepEqual(withoutNulls(schema, value), value);
    }
    assert.deepEqual(withoutNulls(schema, { list: [{ a: null }, { b: null }] }), { list: [{}, { b: null }] });
  });
});
