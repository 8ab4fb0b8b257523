import { contract, errorCodes, type HostOp, hostOps, type Route } from '@svc/contract';
import { z } from 'zod';
import { createSchemas, type JsonSchema, type Schemas } from '../kernel/reference/openapi.schemas.ts';
import { inputsOf, outputsOf, parameterOf } from '../kernel/reference/openapi.ts';

/**
 * What the SDK takes of the contract, as plain interfaces: the types of zod cost who compiles against them 600,000 types, these a
 * few thousand, and neither zod nor the contract is needed beside them. Names and meaning are those of `@svc/contract`.
 */
export function contractDeclarations(): string {
  const operations = Object.entries(contract).map(([feature, routes]) => ({
    feature,
    // A WebSocket is opened by the client of its own protocol.
    routes: Object.entries(routes as Record<string, Route>).filter(([, { answers }]) => answers.kind !== 'socket'),
  }));
  const routes = operations.flatMap((one) => one.routes.map(([, route]) => route));
  const ops = Object.entries(hostOps) as [HostOp, { args: z.ZodType; result: z.ZodType }][];
  const schemas = createSchemas(
    [...routes.flatMap(({ answers }) => outputsOf(answers)), ...ops.flatMap(([, { args, result }]) => [args, result])],
    routes.flatMap((route) => inputsOf(route)),
  );
  const components = Object.entries(schemas.components).map(([name, schema]) => {
    const type = typeOf(schema);
    return `${comment(schema)}${schema['properties'] ? `export interface ${name} ${type}` : `export type ${name} = ${type};`}\n`;
  });
  const features = operations.map(({ feature, routes: own }) => {
    const lines = own.map(
      ([verb, route]) => `/** ${plain(route.summary)}. */\n${verb}: ${routeType(schemas, route)};\n`,
    );
    return `${feature}: {\n${lines.join('')}};\n`;
  });
  const hosts = ops.map(([name, { args, result }]) => {
    return `${name}: { args: ${typeOf(schemas.output(args))}; result: ${typeOf(schemas.output(result))} };\n`;
  });
  return [
    ...components,
    `export type ErrorCode = ${Object.keys(errorCodes).map(literal).join(' | ')};\n`,
    `interface HostOps {\n${hosts.join('')}}\n`,
    helpers,
    `export interface Contract {\n${features.join('')}}\n`,
  ].join('');
}

/** How a client reads the interfaces, under the names of the contract. */
const helpers = `type HostOp = keyof HostOps;
type HostOpArgs<N extends HostOp> = HostOps[N]['args'];
type HostOpResult<N extends HostOp> = HostOps[N]['result'];
interface Route {
  method: string;
  answers: { kind: string };
  input: unknown;
  output: unknown;
  event: unknown;
  frame: unknown;
}
type RouteInput<R extends Route> = R['input'];
type RouteOutput<R extends Route> = R['output'];
type RouteEvent<R extends Route> = R['event'];
type RouteFrame<R extends Route> = R['frame'];
`.replace(/^(?=type|interface)/gm, 'export ');

function routeType(schemas: Schemas, route: Route): string {
  const { method, idempotent, takes, answers } = route;
  const fields = [
    `method: ${literal(method)}`,
    ...(idempotent === true ? ['idempotent: true'] : []),
    ...(takes ? [`takes: { kind: ${literal(takes.kind)} }`] : []),
    `answers: { kind: ${literal(answers.kind)}${'schemas' in answers ? '; schemas: object' : ''} }`,
    `input: ${inputType(schemas, route)}`,
    `output: ${outputType(schemas, route)}`,
    `event: ${'schemas' in answers ? eventType(schemas, answers.schemas) : 'never'}`,
    `frame: ${answers.kind === 'json' && answers.frames ? typeOf(schemas.output(answers.frames)) : 'never'}`,
  ];
  return `{ ${fields.join('; ')} }`;
}

function inputType(schemas: Schemas, { params, query, takes }: Route): string {
  const parts = [
    ...(params ? [`params: ${parametersType(schemas, params)}`] : []),
    ...(query ? [`query${query.safeParse({}).success ? '?' : ''}: ${parametersType(schemas, query)}`] : []),
    ...(takes?.kind === 'json' ? [`body: ${typeOf(schemas.input(takes.schema))}`] : []),
    ...(takes?.kind === 'bytes' ? ['body: Uint8Array'] : []),
    ...(takes?.kind === 'anything' ? ['body?: string | Uint8Array'] : []),
  ];
  return parts.length === 0 ? 'unknown' : `{ ${parts.join('; ')} }`;
}

/** Parameters of an address: what it reads as numbers and truth may be sent as such, and as the text that they are there. */
function parametersType(schemas: Schemas, parts: z.ZodObject): string {
  const fields = Object.entries(parts.shape as Record<string, z.ZodType>).map(([name, type]) => {
    const types = new Set([typeOf(parameterOf(schemas, type))]);
    if (types.has('boolean')) types.add(typeOf(schemas.input(type)));
    const mark = type.safeParse(undefined).success ? '?' : '';
    return `${key(name)}${mark}: ${[...types, ...(mark ? ['undefined'] : [])].join(' | ')}`;
  });
  return `{ ${fields.join('; ')} }`;
}

function outputType(schemas: Schemas, { answers }: Route): string {
  if (answers.kind === 'json') {
    return [...new Set(Object.values(answers.statuses).map((type) => typeOf(schemas.output(type))))].join(' | ');
  }
  if (answers.kind === 'relayed') return typeOf(schemas.output(answers.schema));
  if (answers.kind === 'text') return 'string';
  return answers.kind === 'bytes' ? 'Uint8Array' : 'undefined';
}

const eventType = (schemas: Schemas, events: Readonly<Record<string, z.ZodType>>): string =>
  Object.entries(events)
    .map(([name, type]) => `{ event: ${literal(name)}; data: ${typeOf(schemas.output(type))} }`)
    .join(' | ');

/** The type of a JSON schema. */
function typeOf(schema: JsonSchema): string {
  const reference = /^#\/components\/schemas\/(\w+)$/.exec(String(schema['$ref']))?.[1];
  if (reference !== undefined) return reference;
  if ('const' in schema) return literal(schema['const']);
  if (Array.isArray(schema['enum'])) return union(schema['enum'].map(literal));
  for (const keyword of ['anyOf', 'oneOf']) {
    if (Array.isArray(schema[keyword])) return union((schema[keyword] as JsonSchema[]).map(typeOf));
  }
  const types = [schema['type'] ?? []].flat() as string[];
  return types.length === 0 ? 'unknown' : union(types.map((type) => typeOfKind(type, schema)));
}

function typeOfKind(type: string, schema: JsonSchema): string {
  if (type === 'array') return `${bracketed(typeOf((schema['items'] ?? {}) as JsonSchema))}[]`;
  if (type !== 'object') return type === 'integer' ? 'number' : type;
  const required = new Set(schema['required'] as string[] | undefined);
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const fields = properties.map(([name, property]) => {
    const own = typeOf(property);
    const isSure = required.has(name) || own === 'unknown';
    return `${comment(property)}${key(name)}${required.has(name) ? '' : '?'}: ${isSure ? own : `${own} | undefined`}`;
  });
  const rest = schema['additionalProperties'];
  const others = typeof rest === 'object' ? typeOf(rest as JsonSchema) : 'unknown';
  if (properties.length === 0 && typeof rest !== 'object' && schema['properties']) return 'Record<string, never>';
  if (properties.length === 0) return `{ [name: string]: ${others} }`;
  return `{ ${[...fields, ...(typeof rest === 'object' ? ['[name: string]: unknown'] : [])].join('; ')} }`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');
const bracketed = (type: string): string => (/[ |]/.test(type) ? `(${type})` : type);
const literal = (value: unknown): string => JSON.stringify(value);
const key = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name));
/** Text as it may stand in a comment. */
const plain = (text: string): string => text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ');
const comment = ({ description }: JsonSchema): string =>
  typeof description === 'string' ? `/** ${plain(description)} */ ` : '';
