import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contract, errorCodes } from '@svc/contract';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { openApiDocument } from './openapi.ts';
import { resolved } from './openapi.refs.ts';
import { createSchemas, type JsonSchema } from './openapi.schemas.ts';

type Operation = {
  summary: string;
  description: string;
  requestBody?: { required: boolean };
  parameters?: { name: string; schema: JsonSchema }[];
  responses: Record<string, JsonSchema>;
  operationId: string;
  servers?: { url: string; variables: Record<string, { default: string }> }[];
};
const document = openApiDocument() as {
  paths: Record<string, Record<string, Operation>>;
  components: Record<'schemas' | 'responses' | 'parameters', Record<string, JsonSchema>>;
};
const operations = Object.values(document.paths)
  .flatMap((path) => Object.values(path))
  .map((operation) => ({
    ...operation,
    parameters: (operation.parameters ?? []).map((one) => resolved(document, one)),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, answer]) => [status, resolved(document, answer)]),
    ),
  }));
const operationOf = (id: string): Operation =>
  operations.find(({ operationId }) => operationId === id) ?? assert.fail(id);

describe('the published document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(validator.version, '3.1');
  });

  test('every list of a JSON body has a bound, but for those of the protocols of models', () => {
    const ofModels = /^(?:chat|messages|responses|embeddings)\./;
    const unbounded = new Set<string>();
    const look = (schema: JsonSchema, id: string, seen: ReadonlySet<string>): void => {
      const { $ref: reference } = schema;
      const name = typeof reference === 'string' ? (reference.split('/').at(-1) ?? '') : '';
      if (seen.has(name)) return;
      if (name !== '') return look(document.components.schemas[name] ?? {}, id, new Set([...seen, name]));
      if (schema['type'] === 'array' && schema['maxItems'] === undefined) unbounded.add(id);
      for (const part of Object.values(schema)) {
        const parts = typeof part === 'object' && part !== null ? [part, ...Object.values(part)] : [];
        for (const one of parts) if (typeof one === 'object' && one !== null) look(one as JsonSchema, id, seen);
      }
    };
    for (const { operationId: id, requestBody } of operations) {
      const { content = {} } = (requestBody ?? {}) as { content?: Record<string, { schema: JsonSchema }> };
      const schema = content['application/json']?.schema;
      if (schema && !ofModels.test(id)) look(schema, id, new Set());
    }
    assert.deepEqual([...unbounded], []);
  });

  test('a route of the relay has the server of the relay, others have none of their own', () => {
    const { connect } = contract.realtime;
    const { paths } = openApiDocument({ realtime: { connect: { ...connect, at: 'relay' } } }) as typeof document;
    const [server] = paths['/v1/realtime']?.['get']?.servers ?? [];
    assert.deepEqual([server?.url, server?.variables['relay_url']?.default], ['{relay_url}', '/relay']);
    for (const { servers, operationId } of operations)
      assert.equal(servers !== undefined, operationId.startsWith('relay.'), operationId);
  });

  test('every component says what it is, and every reference finds one', () => {
    const { schemas } = document.components;
    for (const [name, schema] of Object.entries(schemas)) {
      assert.ok('type' in schema || 'oneOf' in schema || 'anyOf' in schema, `${name}: ${JSON.stringify(schema)}`);
    }
    const refs = JSON.stringify(document).matchAll(/"(#\/components\/[^"]+)"/g);
    for (const [, $ref] of refs) assert.ok(resolved(document, { $ref }));
  });

  test('what many operations have in common stands once', () => {
    const { responses, parameters } = document.components;
    const inline = Object.values(document.paths)
      .flatMap((path) => Object.values(path))
      .flatMap((operation) => Object.entries(operation.responses));
    for (const [status, answer] of inline) {
      const isEnvelope = JSON.stringify(answer).includes('#/components/schemas/Error"');
      assert.ok(!isEnvelope, `${status}: ${JSON.stringify(answer)}`);
    }
    const said = JSON.stringify(Object.values(document.paths));
    for (const kind of [responses, parameters]) {
      for (const [name, component] of Object.entries(kind)) {
        assert.ok(said.includes(`/${name}"`), `${name} is referred to`);
        assert.ok(!said.includes(JSON.stringify(component)), `${name} stands inline too`);
      }
    }
  });

  test('a number of an address is one, with its bounds', () => {
    const all = operations.flatMap(({ parameters }) => parameters);
    for (const { name, schema } of all)
      if (schema['type'] === 'integer') assert.equal(typeof schema['minimum'], 'number', name);
    const limits = all.filter(({ name }) => name === 'limit');
    assert.ok(limits.length > 30);
    for (const { schema } of limits) {
      assert.deepEqual([schema['type'], schema['minimum'], typeof schema['maximum']], ['integer', 1, 'number']);
    }
  });

  test('operations have ids of their own', () => {
    const ids = operations.map(({ operationId }) => operationId);
    assert.deepEqual(ids.toSorted(), [...new Set(ids)].toSorted());
  });

  test('an answer may have more properties than are listed, and a body that may be absent is not required', () => {
    const answered = operations.map(({ responses }) => responses);
    assert.ok(!JSON.stringify(answered).includes('"additionalProperties":false'));
    assert.equal(operationOf('sandboxes.create').requestBody?.required, false);
    assert.equal(operationOf('schedules.create').requestBody?.required, true);
  });

  test('a body may say null for every optional property of every object in it', () => {
    let optional = 0;
    const takesNull = (schema: JsonSchema): boolean =>
      Object.keys(schema).every((key) => ['description', 'default'].includes(key)) ||
      [schema['type']].flat().includes('null') ||
      ((schema['anyOf'] ?? []) as JsonSchema[]).some(takesNull);
    const seen = new Set<string>();
    const look = (part: unknown, where: string): void => {
      if (Array.isArray(part)) return part.forEach((one, at) => look(one, `${where}.${at}`));
      if (typeof part !== 'object' || part === null) return;
      const schema = part as JsonSchema;
      const required = (schema['required'] ?? []) as string[];
      for (const [name, property] of Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>)) {
        if (required.includes(name)) continue;
        optional += 1;
        assert.ok(takesNull(property), `${where}.${name}: ${JSON.stringify(property)}`);
      }
      const id = /^#\/components\/schemas\/(.*)$/.exec(String(schema['$ref']))?.[1];
      if (id !== undefined && !seen.has(id)) {
        seen.add(id);
        look(document.components.schemas[id], id);
      }
      for (const key of ['properties', 'items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf']) {
        const inside = schema[key];
        if (key === 'properties') look(Object.values(inside ?? {}), where);
        else look(inside, where);
      }
    };
    for (const { operationId, requestBody } of operations) {
      const content = (requestBody as { content?: Record<string, JsonSchema> } | undefined)?.content ?? {};
      look(content['application/json']?.['schema'], operationId);
    }
    assert.ok(optional > 100, String(optional));
    const exec = JSON.stringify(operationOf('hosts.exec').requestBody);
    assert.match(exec, /"timeout_ms":\{[^}]*"type":\["integer","null"\]/);
  });

  test('an operation that needs a key can meet a shutdown: 503 `unavailable` is listed', () => {
    for (const id of ['keys.list', 'sandboxes.exec', 'scheduler.heartbeat', 'health.live']) {
      assert.match(String(operationOf(id).responses['503']?.['description']), /unavailable/, id);
    }
    assert.doesNotMatch(String(operationOf('health.ready').responses['503']?.['description']), /unavailable/);
  });

  test('every operation says what it does, and shows an answer', () => {
    for (const { operationId, description, responses } of operations) {
      assert.ok(description.replace(/\n\nNeeds a key with [^\n]*$/, '').length > 40, operationId);
      const isShown = ({ schema, example }: JsonSchema): boolean =>
        example !== undefined || (schema as JsonSchema)['format'] === 'binary';
      // The usual status is the only one with an example.
      const usual = Object.entries(responses).find(([status, { content }]) => {
        const shown = Object.values((content ?? {}) as Record<string, JsonSchema>);
        return ['101', '204'].includes(status) || (status.startsWith('2') && shown.length > 0 && shown.every(isShown));
      });
      assert.ok(usual, operationId);
    }
  });

  test('a description names no failure that the operation does not list', () => {
    let named = 0;
    for (const { operationId, description, responses } of operations) {
      for (const [said, status = '', code = ''] of description.matchAll(/\b([45]\d\d) `(\w+)`/g)) {
        named += 1;
        assert.match(String(responses[status]?.['description']), new RegExp(`\`${code}\``), `${operationId}: ${said}`);
      }
    }
    assert.ok(named > 30, 'the pattern finds them');
  });

  test('every error code has a status of the envelope', () => {
    for (const { status } of Object.values(errorCodes)) assert.ok(status >= 400 && status < 600);
  });
});

describe('schemas of a document', () => {
  test('two types with one id stop the build, wherever they stand', () => {
    const one = z.object({ a: z.string() }).meta({ id: 'Same' });
    const other = z.object({ b: z.number() }).meta({ id: 'Same' });
    assert.throws(() => createSchemas([one], [z.object({ inside: z.array(other) })]), /Same/);
  });

  test('a type that differs on its way in is a component of its own; one that does not is shared', () => {
    const inner = z.object({ zone: z.string().default('UTC') }).meta({ id: 'Inner' });
    const outer = z.object({ inner }).meta({ id: 'Outer' });
    const same = z.object({ a: z.string() }).meta({ id: 'Plain' });
    const { components, input, output } = createSchemas([outer, same], [outer, same]);
    assert.deepEqual(Object.keys(components), ['Inner', 'InnerInput', 'Outer', 'OuterInput', 'Plain']);
    assert.deepEqual(input(outer), { $ref: '#/components/schemas/OuterInput' });
    assert.deepEqual(output(outer), { $ref: '#/components/schemas/Outer' });
    assert.deepEqual(input(same), output(same));
  });

  test('a type that only comes in keeps its name', () => {
    const only = z.object({ zone: z.string().default('UTC') }).meta({ id: 'Only' });
    const { components, input } = createSchemas([], [only]);
    assert.deepEqual([Object.keys(components), input(only)], [['Only'], { $ref: '#/components/schemas/Only' }]);
  });
});
