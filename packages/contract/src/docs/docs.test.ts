import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { z } from 'zod';
import { contract, Json, type Route } from '../index.ts';
import type { devices } from '../devices.ts';
import type { Docs } from './docs.ts';
import { docOf, docs, samples } from './index.ts';

const operations = Object.entries(contract).flatMap(([feature, routes]) =>
  Object.entries(routes as Record<string, Route>).map(([verb, route]) => {
    return { id: `${feature}.${verb}`, route, doc: docOf(feature, verb) };
  }),
);
const words = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu));

/** Fails with what does not fit the schema. */
function fits(schema: z.ZodType, value: unknown, what: string): void {
  const { error } = schema.safeParse(value);
  assert.equal(error?.message, undefined, what);
}

describe('the docs of operations', () => {
  test('stand for every operation of the contract, and for nothing else', () => {
    const inOrder = (table: Record<string, object>): [string, string[]][] =>
      Object.entries(table).map(([name, verbs]) => [name, Object.keys(verbs).toSorted()]);
    assert.deepEqual(inOrder(docs), inOrder(contract));
    const { list } = docs.devices;
    // @ts-expect-error: docs of no verb do not compile
    ({ list, more: list }) satisfies Docs<typeof devices>;
    // @ts-expect-error: a verb without docs does not compile
    ({}) satisfies Docs<typeof devices>;
  });

  test('a description is one to three sentences, each to its full stop, and does not say its summary again', () => {
    for (const { id, route, doc } of operations) {
      const { description } = doc;
      assert.match(description, /^[\p{Lu}`].*\.$/su, id);
      assert.ok(description.length <= 450, `${id}: ${description.length} characters`);
      assert.ok((description.match(/\.(?= |$)/g)?.length ?? 0) <= 3, `${id}: more than three sentences`);
      assert.ok(!description.includes('  '), id);
      const [first = ''] = description.split(/\.(?= |$)/);
      const said = words(route.summary);
      const repeated = [...words(first)].filter((word) => said.has(word)).length / words(first).size;
      assert.ok(repeated < 0.6, `${id}: "${first}" repeats "${route.summary}"`);
    }
  });

  test('tell nobody what was added to which document', () => {
    const published = readFileSync(join(import.meta.dirname, '../../../../apps/server/openapi.json'), 'utf8');
    assert.deepEqual(published.match(/.{0,60}\(additive.{0,20}/g), null);
  });

  test('an example fits the schemas of its route', () => {
    for (const { id, route, doc } of operations) {
      const { params, query, headers, body, response, frame } = doc.example;
      for (const [part, value] of Object.entries({ params, query, headers })) {
        const schema = route[part as 'params'];
        assert.equal(value === undefined, schema === undefined, `${id}: ${part}`);
        // A query carries text.
        const sent = Object.fromEntries(Object.entries(value ?? {}).map(([name, one]) => [name, String(one)]));
        if (schema) fits(schema, sent, `${id}: ${part}`);
      }
      if (route.takes instanceof Json) fits(route.takes.schema, body, `${id}: body`);
      const { answers } = route;
      if (answers.kind === 'json') fits(answers.schema, response, `${id}: response`);
      if (answers.kind === 'json' && answers.frames) fits(answers.frames, frame, `${id}: frame`);
      if (answers.kind === 'text') fits(answers.schema, response, `${id}: response`);
      if (answers.kind === 'bytes') assert.match(String(response), /^[A-Z].*\.$/, id);
      if (answers.kind === 'bytes' && 'schemas' in answers) {
        const { event, data } = frame as { event: string; data: unknown };
        fits(answers.schemas[event] ?? assert.fail(`${id}: ${event}`), data, `${id}: ${event}`);
      }
      if (answers.kind === 'events') {
        const { event, data } = response as { event: string; data: unknown };
        fits(answers.schemas[event] ?? assert.fail(`${id}: ${event}`), data, `${id}: ${event}`);
      }
    }
  });

  test('a secret in an example is recognisably none', () => {
    const text = JSON.stringify(docs);
    for (const [secret] of text.matchAll(/svc_[0-9A-Za-z]{30,}/g)) assert.match(secret, /EXAMPLE/);
    const { keyText, pingToken, signature, endpoint } = samples;
    for (const secret of [keyText, pingToken, signature, endpoint]) {
      assert.match(secret, /EXAMPLE/);
      assert.ok(text.includes(secret), secret);
    }
  });
});
