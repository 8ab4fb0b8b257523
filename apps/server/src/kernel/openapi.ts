import { contract, type ErrorCode, errorCodes, errorEnvelope, type Route } from '@svc/contract';
import { z } from 'zod';
import { routeErrors } from './feature.ts';

type Json = Record<string, unknown>;

const sharedHeaders: Json[] = [
  {
    name: 'x-request-id',
    in: 'header',
    description: 'Correlation id; comes back as `x-svc-trace-id`.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  {
    name: 'x-svc-device',
    in: 'header',
    description: 'Stable id of the calling device; registers it on first use.',
    schema: { type: 'string', format: 'uuid' },
  },
  { name: 'x-svc-device-name', in: 'header', schema: { type: 'string', maxLength: 120 } },
  { name: 'x-svc-device-platform', in: 'header', schema: { type: 'string', maxLength: 120 } },
];
const idempotencyHeader: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A repeat within 24 h answers the stored response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

/** The OpenAPI 3.1 document of the contract. Depends on nothing else, so the committed copy can be diffed. */
export function openApiDocument(): Json {
  const components: Json = {};
  const paths: Record<string, Json> = {};
  for (const [feature, routes] of Object.entries(contract)) {
    for (const [verb, route] of Object.entries(routes as Record<string, Route>)) {
      const path = (paths[route.path] ??= {});
      path[route.method.toLowerCase()] = describe(`${feature}.${verb}`, feature, route, components);
      for (const method of route.also ?? []) {
        const id = `${feature}.${verb}.${method.toLowerCase()}`;
        path[method.toLowerCase()] = describe(id, feature, { ...route, takesBody: method === 'POST' }, components);
      }
    }
  }
  schemaOf(errorEnvelope, 'output', components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: '1',
      description:
        "The platform side of a person's devices. Every failure is `{ error: { message, type, code, details? } }`; " +
        'field names are returned as sent; additive changes ship without notice.',
    },
    servers: [{ url: '/' }],
    tags: Object.keys(contract).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: `svc_…`' } },
      schemas: components,
    },
  };
}

function describe(
  operationId: string,
  feature: string,
  route: Route & { takesBody?: boolean },
  components: Json,
): Json {
  return {
    operationId,
    tags: [feature],
    summary: route.summary,
    security: route.auth === 'key' ? [{ key: [] }] : [],
    parameters: [
      ...parametersOf(route.params, 'path', components),
      ...parametersOf(route.query, 'query', components),
      ...parametersOf(route.headers, 'header', components),
      ...(route.auth === 'key' ? sharedHeaders.filter((header) => !route.headers?.shape[String(header['name'])]) : []),
      ...(route.idempotent ? [idempotencyHeader] : []),
    ],
    ...(route.upload !== undefined && {
      requestBody: {
        required: true,
        description: `Bytes of any type, at most ${route.upload}`,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
    ...(route.body &&
      route.upload === undefined && {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaOf(route.body, 'input', components) } },
        },
      }),
    ...(route.takesBody &&
      route.rawBody !== undefined && {
        requestBody: {
          description: `Anything; the first ${route.rawBody} bytes are kept`,
          content: { '*/*': { schema: { type: 'string' } } },
        },
      }),
    responses: { ...successes(route, components), ...failures(routeErrors(route)) },
  };
}

function parametersOf(schema: z.ZodObject | undefined, place: string, components: Json): Json[] {
  if (!schema) return [];
  return Object.entries(schema.shape).map(([name, type]) => {
    const { description, ...rest } = schemaOf(type as z.ZodType, 'input', components);
    const required = place === 'path' || !(type as z.ZodType).safeParse(undefined).success;
    return { name, in: place, required, ...(description !== undefined && { description }), schema: rest };
  });
}

function successes(route: Route, components: Json): Json {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, schema]) => {
      if (route.events) {
        const names = Object.entries(route.events).map(([name, type]) => ({
          type: 'object',
          title: name,
          properties: { event: { const: name }, data: schemaOf(type, 'output', components) },
          required: ['event', 'data'],
        }));
        const description = `Named events: ${Object.keys(route.events).join(', ')}; \`: ping\` comments every 15 s`;
        // The schema of an event stream describes its frames: OpenAPI 3.1 has no keyword of its own for them.
        return [status, { description, content: { 'text/event-stream': { schema: { oneOf: names } } } }];
      }
      if (route.download) {
        const binary = { schema: { type: 'string', format: 'binary' } };
        return [status, { description: 'The bytes', content: { 'application/octet-stream': binary } }];
      }
      const description = Number(status) < 400 ? 'Success' : 'Failure, with the same record';
      return [
        status,
        {
          description,
          content: {
            [route.plain ? 'text/plain' : 'application/json']: { schema: schemaOf(schema, 'output', components) },
            ...(route.frames && {
              'text/event-stream': { schema: schemaOf(route.frames, 'output', components) },
            }),
          },
        },
      ];
    }),
  );
}

function failures(codes: ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes.sort()) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  return Object.fromEntries(
    [...byStatus].map(([status, names]) => [
      status,
      { description: names.map((name) => `\`${name}\``).join(', '), content },
    ]),
  );
}

/** JSON Schema of a type; types with an `id` become components. */
function schemaOf(type: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const schema = z.toJSONSchema(type, { io, unrepresentable: 'any', reused: 'inline' }) as Json;
  const { $schema: _, $defs, ...rest } = schema;
  for (const [name, definition] of Object.entries(($defs ?? {}) as Json))
    components[name] = withoutId(definition as Json);
  const id = type.meta()?.id;
  const renamed = JSON.parse(JSON.stringify(rest).replaceAll('#/$defs/', '#/components/schemas/')) as Json;
  if (typeof id !== 'string') return renamed;
  components[id] = withoutId(renamed);
  return { $ref: `#/components/schemas/${id}` };
}

function withoutId(schema: Json): Json {
  const { id: _, ...rest } = schema;
  return JSON.parse(JSON.stringify(rest).replaceAll('#/$defs/', '#/components/schemas/')) as Json;
}
