import {
  type Answers,
  contract,
  type ErrorCode,
  errorCodes,
  errorEnvelope,
  Json,
  type Route,
  scopesOf,
} from '@svc/contract';
import { type AnyDoc, docOf } from '@svc/contract/docs';
import { z } from 'zod';
import { createSchemas, type JsonSchema, type Schemas } from './openapi.schemas.ts';

/** Headers of every operation that needs a key, by the names of their components. */
const sharedHeaders = {
  RequestId: {
    name: 'x-request-id',
    in: 'header',
    description: 'Correlation id; comes back as `x-svc-trace-id`.',
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  Device: {
    name: 'x-svc-device',
    in: 'header',
    description: 'Stable id of the calling device; registers it on first use.',
    schema: { type: 'string', format: 'uuid' },
  },
  DeviceName: { name: 'x-svc-device-name', in: 'header', schema: { type: 'string', maxLength: 120 } },
  DevicePlatform: { name: 'x-svc-device-platform', in: 'header', schema: { type: 'string', maxLength: 120 } },
} satisfies Record<string, JsonSchema>;
const idempotencyHeader: JsonSchema = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A repeat within 24 h answers the stored response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const refTo = (kind: 'parameters' | 'responses', name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
});
/** Relays may have a name of their own, which the document cannot know. */
const relayServer: JsonSchema = {
  url: '{relay_url}',
  variables: { relay_url: { default: '/relay', description: 'The setting `SVC_RELAY_URL` of the installation' } },
};
const binary: JsonSchema = { type: 'string', format: 'binary' };
/** Of a form with a file, for a model. */
const formSchema: JsonSchema = {
  type: 'object',
  properties: { file: binary, model: { type: 'string' } },
  required: ['file', 'model'],
};

/** The OpenAPI 3.1 document of the contract. Depends on nothing else, so the committed copy can be diffed. */
export function openApiDocument(table: Readonly<Record<string, Record<string, Route>>> = contract): JsonSchema {
  const operations = Object.entries(table).flatMap(([feature, routes]) =>
    Object.entries(routes).map(([verb, route]) => ({ feature, verb, route })),
  );
  const schemas = createSchemas(
    [errorEnvelope, ...operations.flatMap(({ route }) => outputsOf(route.answers))],
    operations.flatMap(({ route }) => inputsOf(route)),
  );
  const paths: Record<string, JsonSchema> = {};
  for (const { feature, verb, route } of operations) {
    const path = (paths[route.path.replace('*}', '}')] ??= {});
    const id = `${feature}.${verb}`;
    const described = { feature, route, doc: docOf(feature, verb) };
    path[route.method.toLowerCase()] = describe(id, described, schemas);
    if (route.also === undefined) continue;
    path[route.also.toLowerCase()] = describe(`${id}.${route.also.toLowerCase()}`, described, schemas, route.takes);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: '1',
      description:
        "The platform side of a person's devices. Every failure is `{ error: { message, type, code, details? } }`; " +
        'field names are returned as sent; additive changes ship without notice: an answer may have more properties ' +
        'than are listed. Wherever there is GET, HEAD answers the same without the body. In a body null for an optional ' +
        'field is as good as leaving it out; in a PATCH it sets a field that has a default back to it.',
    },
    servers: [{ url: '/' }],
    tags: Object.keys(table).map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: `svc_…`' } },
      parameters: { ...sharedHeaders, IdempotencyKey: idempotencyHeader },
      responses: Object.fromEntries(
        operations
          .flatMap(({ route }) => failuresOf(route))
          .map(([, codes]) => [nameOfFailure(codes), failure(codes)] as const)
          .sort(([one], [other]) => (one < other ? -1 : 1)),
      ),
      schemas: schemas.components,
    },
  };
}

/** The types of what a route takes. */
export const inputsOf = ({ params, query, headers, takes }: Route): z.ZodType[] => [
  ...[params, query, headers].flatMap((part) => Object.values(part?.shape ?? {}) as z.ZodType[]),
  ...(takes?.kind === 'json' ? [takes.schema] : []),
];

/** The types of what a route answers. */
export function outputsOf(answers: Answers): z.ZodType[] {
  if (answers.kind === 'json') return [...Object.values(answers.statuses), ...(answers.frames ? [answers.frames] : [])];
  if ('schemas' in answers) return Object.values(answers.schemas);
  return answers.kind === 'text' || answers.kind === 'relayed' ? [answers.schema] : [];
}

/** `takes` is given for the second method of a route whose first one, GET, has no body. */
function describe(
  operationId: string,
  { feature, route, doc }: { feature: string; route: Route; doc: AnyDoc },
  schemas: Schemas,
  takes = route.method === 'GET' ? undefined : route.takes,
): JsonSchema {
  const { example } = doc;
  const needs = route.auth === 'key' ? [scopesText(scopesOf(feature, route), route.ofApps)] : [];
  return {
    operationId,
    tags: [feature],
    summary: route.summary,
    description: [doc.description, ...needs].join('\n\n'),
    ...(route.at === 'relay' && { servers: [relayServer] }),
    security: route.auth === 'key' ? [{ key: [] }] : [],
    parameters: [
      ...parametersOf(route.params, 'path', schemas, example.params),
      ...parametersOf(route.query, 'query', schemas, example.query),
      ...parametersOf(route.headers, 'header', schemas, example.headers),
      ...(route.auth === 'key' ? sharedHeadersOf(route) : []),
      ...(route.idempotent ? [refTo('parameters', 'IdempotencyKey')] : []),
    ],
    ...(takes && { requestBody: requestBody(takes, schemas, example.body) }),
    responses: { ...successes(route.answers, schemas, example), ...failures(route) },
    // Why a repeat needs no `Idempotency-Key`.
    ...(route.notIdempotent !== undefined && { 'x-not-idempotent': route.notIdempotent }),
  };
}

/** The scopes that allow a key to call a route. */
const scopesText = (scopes: readonly string[], ofApps?: string): string =>
  `Needs a key with the scope ${['*', ...scopes].map((scope) => `\`${scope}\``).join(' or ')}.` +
  (ofApps === undefined ? '' : ` One of an app needs \`${ofApps}\` by itself.`);

/** The `example` of a body or a parameter, where there is one. */
const exampleOf = (value: unknown): JsonSchema => (value === undefined ? {} : { example: value });

/** Those that the route does not describe itself. */
const sharedHeadersOf = ({ headers }: Route): JsonSchema[] =>
  Object.entries(sharedHeaders)
    .filter(([, { name }]) => !headers?.shape[name])
    .map(([component]) => refTo('parameters', component));

function requestBody(takes: NonNullable<Route['takes']>, schemas: Schemas, body: unknown): JsonSchema {
  if (takes.kind === 'bytes') {
    const description = `Bytes of any type, at most ${takes.most}`;
    return {
      required: true,
      description,
      content: {
        [takes.type]: { schema: takes.type.startsWith('multipart/') ? formSchema : binary, ...exampleOf(body) },
      },
    };
  }
  if (takes.kind === 'anything') {
    const description = `Anything; the first ${takes.kept} bytes are kept`;
    return { description, content: { '*/*': { schema: { type: 'string' }, ...exampleOf(body) } } };
  }
  const content = { 'application/json': { schema: schemas.input(takes.schema), ...exampleOf(body) } };
  // No body is read as `{}`.
  return { required: !takes.schema.safeParse({}).success, content };
}

/** Numbers and truth travel as text in an address, which a reader of the document is not to send by hand. */
export function parameterOf(schemas: Schemas, type: z.ZodType): JsonSchema {
  const [sent, read] = [schemas.input(type), schemas.output(type)];
  const isRead = ['integer', 'number', 'boolean'].includes(String(read['type']));
  if (sent['type'] !== 'string' || !isRead) return sent;
  return { ...read, ...(sent['description'] !== undefined && { description: sent['description'] }) };
}

function parametersOf(
  parts: z.ZodObject | undefined,
  place: string,
  schemas: Schemas,
  values: AnyDoc['example']['params'] = {},
): JsonSchema[] {
  return Object.entries((parts?.shape ?? {}) as Record<string, z.ZodType>).map(([name, type]) => {
    const { description, ...schema } = parameterOf(schemas, type);
    const required = place === 'path' || !type.safeParse(undefined).success;
    return {
      name,
      in: place,
      required,
      ...(description !== undefined && { description }),
      schema,
      ...exampleOf(values[name]),
    };
  });
}

function successes(answers: Answers, schemas: Schemas, example: AnyDoc['example']): JsonSchema {
  const ok = (description: string, type: string, schema: JsonSchema, value?: unknown): JsonSchema => ({
    200: { description, content: { [type]: { schema, ...exampleOf(value) } } },
  });
  const { response } = example;
  if (answers.kind === 'socket') return { 101: { description: 'The WebSocket is open' } };
  if (answers.kind === 'nothing') return { 204: { description: 'Done; no body' } };
  if (answers.kind === 'text') return ok('Success', 'text/plain', schemas.output(answers.schema), response);
  if (answers.kind === 'relayed' && answers.type !== 'application/json') {
    return { 200: { description: String(response), content: { [answers.type]: { schema: binary } } } };
  }
  if (answers.kind === 'relayed') {
    const schema = { type: 'string', description: 'With `stream: true`: the events of the protocol, as it has them' };
    const stream = { schema, example: 'data: {}\n\n' };
    const content = { 'application/json': { schema: schemas.output(answers.schema), ...exampleOf(response) } };
    return { 200: { description: 'Success', content: { ...content, 'text/event-stream': stream } } };
  }
  if (answers.kind === 'bytes') {
    const events = 'schemas' in answers && {
      'text/event-stream': { schema: oneOfEvents(answers.schemas, schemas), ...exampleOf(example.frame) },
    };
    const content = { [answers.type]: { schema: binary }, ...events };
    const part = { 206: { description: 'The part that `range` asks for', content } };
    return { 200: { description: String(response), content }, ...(answers.ranges && part) };
  }
  if (answers.kind === 'json') return jsonAnswers(answers, schemas, example);
  const description = `Named events: ${Object.keys(answers.schemas).join(', ')}; \`: ping\` comments every 15 s`;
  return ok(description, 'text/event-stream', oneOfEvents(answers.schemas, schemas), response);
}

/** OpenAPI 3.1 has no keyword for the frames of a stream: the schema of its content describes them. */
function oneOfEvents(events: Readonly<Record<string, z.ZodType>>, schemas: Schemas): JsonSchema {
  const frames = Object.entries(events).map(([title, type]) => ({
    type: 'object',
    title,
    properties: { event: { type: 'string', const: title }, data: schemas.output(type) },
    required: ['event', 'data'],
  }));
  return { oneOf: frames };
}

function jsonAnswers({ status: usual, statuses, frames }: Json, schemas: Schemas, example: AnyDoc['example']) {
  return Object.fromEntries(
    Object.entries(statuses).map(([status, type]) => [
      status,
      {
        description: Number(status) < 400 ? 'Success' : 'Failure, with the same record',
        content: {
          'application/json': {
            schema: schemas.output(type),
            ...(Number(status) === usual && exampleOf(example.response)),
          },
          ...(frames && { 'text/event-stream': { schema: schemas.output(frames), ...exampleOf(example.frame) } }),
        },
      },
    ]),
  );
}

/** Every code that a route can answer: its own, and those of its kind. */
function routeErrors(route: Route): ErrorCode[] {
  const codes = new Set(route.errors as ErrorCode[] | undefined);
  const add = (...more: ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.auth === 'key') {
    add(
      'invalid_api_key',
      'account_suspended',
      'subscription_inactive',
      'forbidden',
      'rate_limit_exceeded',
      // Of devices, which any request may add to.
      'quota_exceeded',
      'bad_request',
      'internal_error',
    );
  }
  if (route.only === 'login') add('sign_in_required');
  if (route.freshWithin !== undefined) add('reauth_required');
  // A gateway that shuts down refuses what it does not need for work in flight; a database can be away for any key.
  if (route.auth === 'key' || !route.whileDraining) add('unavailable');
  if (route.params) add('not_found');
  if (route.takes && route.takes.kind !== 'anything') add('payload_too_large');
  if (route.idempotent) add('idempotency_in_flight', 'idempotency_mismatch', 'answer_not_kept');
  // A status with a record of its own, such as the 503 of readiness, is described by it.
  const own = route.answers instanceof Json ? route.answers.statuses : {};
  return [...codes].filter((code) => !(errorCodes[code].status in own));
}

/** A route's codes of errors, those of one status together: one component, which other routes refer to as well. */
const failuresOf = (route: Route): [status: number, codes: ErrorCode[]][] => [
  ...Map.groupBy(routeErrors(route).sort(), (code) => errorCodes[code].status),
];

const failures = (route: Route): JsonSchema =>
  Object.fromEntries(failuresOf(route).map(([status, codes]) => [status, refTo('responses', nameOfFailure(codes))]));

/** `NotFound`, `ForbiddenOrReauthRequired`: a code has one status, so that the codes alone are a name. */
const nameOfFailure = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => code.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())).join('Or');

function failure(codes: readonly ErrorCode[]): JsonSchema {
  const content = {
    schema: { $ref: '#/components/schemas/Error' },
    examples: Object.fromEntries(codes.map(failureOf)),
  };
  return { description: codes.map((code) => `\`${code}\``).join(', '), content: { 'application/json': content } };
}

const failureOf = (code: ErrorCode): [string, JsonSchema] => {
  const reasons = { name: [{ code: 'required', params: {} }] };
  const details = code === 'bad_request' && { details: { fieldErrors: { name: ['is required'] }, reasons } };
  const message = 'what went wrong, and what to do about it';
  return [code, { value: { error: { message, type: errorCodes[code].type, code, ...details } } }];
};
