/** A part of the OpenAPI document. */
type Schema = Record<string, unknown>;
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}
interface Operation {
  operationId: string;
  summary: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const header = '# Written from the OpenAPI document by `npm run generate`; changes here are lost.';

/** The Python client as far as it follows from the OpenAPI document: types and operations, by file. */
export function pythonClient(document: Schema): Record<'types.py' | 'operations.py', string> {
  const types = new Types((document['components'] as { schemas: Record<string, Schema> }).schemas);
  const features = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(document['paths'] as Record<string, Record<string, Operation>>)) {
    for (const [method, operation] of Object.entries(methods)) {
      // A second method that does the same.
      if (typeof operation !== 'object' || operation.operationId?.split('.').length !== 2) continue;
      const [feature = ''] = operation.operationId.split('.');
      // The same with a body, which only POST has.
      const { post } = methods;
      const isTwin = post?.operationId === `${operation.operationId}.post`;
      const whole = isTwin && post?.requestBody ? { ...operation, requestBody: post.requestBody } : operation;
      features.set(feature, [...(features.get(feature) ?? []), ...functionsOf(types, path, method, whole)]);
    }
  }
  const classes = [...features].map(
    ([feature, functions]) =>
      `class ${pascal(feature)}:\n    """Operations of \`${feature}\`."""\n\n    def __init__(self, transport: Transport) -> None:\n        self._transport = transport\n\n${functions.join('\n')}`,
  );
  const all = [...features.keys()];
  const client = `class Operations:
    """Every operation of the API, by feature."""

    def __init__(self, transport: Transport) -> None:
${all.map((feature) => `        self.${snake(feature)} = ${pascal(feature)}(transport)`).join('\n')}
`;
  return {
    'types.py': `"""What is sent and answered."""

${header}

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

${types.text()}`,
    'operations.py': `"""The operations of the API."""

${header}

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Optional, Union
from urllib.parse import quote

from . import types
from ._transport import CallOptions, Event, Transport

${[...classes, client].join('\n\n')}`,
  };
}

function functionsOf(types: Types, path: string, method: string, operation: Operation): string[] {
  const [feature = '', verb = ''] = operation.operationId.split('.');
  const base = pascal(feature) + pascal(verb);
  const name = snake(verb);
  const named = (place: string): Parameter[] => (operation.parameters ?? []).filter((one) => one.in === place);
  const inPath = named('path');
  const inQuery = named('query');
  const body = bodyOf(types, base, operation);
  const signature = [
    'self',
    ...inPath.map((one) => `${snake(one.name)}: str`),
    ...(body ? [body.parameter] : []),
    ...(inQuery.length > 0 ? ['*'] : []),
    ...inQuery.map((one) => `${snake(one.name)}: ${queryType(types, base, one)}`),
    ...(inQuery.length > 0 ? [] : ['*']),
    'options: Optional[CallOptions] = None',
  ];
  const query = inQuery.map((one) => `"${one.name}": ${snake(one.name)}`).join(', ');
  const asked = [
    `"${method.toUpperCase()}"`,
    urlOf(path, inPath),
    ...(query === '' ? [] : [`query={${query}}`]),
    ...(body ? [body.argument] : []),
    ...((operation.parameters ?? []).some((one) => one.name === 'Idempotency-Key') ? ['idempotent=True'] : []),
  ];
  const define = (as: string, returned: string, line: string, more = ''): string =>
    `    def ${as}(${signature.join(', ')}) -> ${returned}:\n        """${doc(operation.summary)}${more}"""\n        ${line}\n`;
  const call = (how: string, extra: string[] = []): string =>
    `self._transport.${how}(${[...asked, ...extra, 'options=options'].join(', ')})`;
  const answer = answerOf(operation);
  if (answer.kind === 'events') {
    const line = `return ${call('events')}`;
    return [define(name, 'Iterator[Event]', line, ' Yields until the stream is closed.')];
  }
  if (answer.kind !== 'json') {
    const type = { text: 'str', bytes: 'bytes', nothing: 'None' }[answer.kind];
    const follow = define(
      `${name}_events`,
      'Iterator[Event]',
      `return ${call('events')}`,
      ' As it comes, until it ends.',
    );
    return [define(name, type, `return ${call(answer.kind)}`), ...(answer.follows ? [follow] : [])];
  }
  const type = types.of(answer.schema, `${base}Answer`, 'types.');
  const records = answer.records.length > 0 ? [`records=(${answer.records.join(', ')},)`] : [];
  const functions = [define(name, type, `return ${call('json', records)}`)];
  if (answer.frames) {
    const frame = types.of(answer.frames, `${base}Frame`, 'types.');
    functions.push(
      define(`${name}_frames`, `Iterator[${frame}]`, `return ${call('frames')}`, ' Its frames as they come.'),
    );
  }
  const items = inQuery.some((one) => one.name === 'cursor') ? types.listIn(answer.schema, `${base}Answer`) : undefined;
  if (items) {
    const line = `return ${call('pages', [`items="${items.name}"`])}`;
    functions.push(define(`${name}_all`, `Iterator[${items.type}]`, line, ' Every item, page after page.'));
  }
  return functions;
}

/** Numbers travel as text, and are numbers to who writes them. */
function queryType(types: Types, base: string, { name, required, schema }: Parameter): string {
  const isNumber = schema['pattern'] === '^\\d{1,6}$';
  const type = isNumber ? 'int' : types.of(schema, base + pascal(name), 'types.');
  return required ? type : `Optional[${type}] = None`;
}

function bodyOf(types: Types, base: string, { requestBody }: Operation) {
  if (!requestBody) return undefined;
  const json = requestBody.content['application/json']?.schema;
  if (!json) {
    const parameter = requestBody.required ? 'body: Union[bytes, str]' : 'body: Union[bytes, str, None] = None';
    return { parameter, argument: 'data=body' };
  }
  const type = types.of(json, `${base}Body`, 'types.');
  const isOptional = !types.needs(json);
  return {
    parameter: isOptional ? `body: Optional[${type}] = None` : `body: ${type}`,
    argument: isOptional ? 'body=body or {}' : 'body=body',
  };
}

function answerOf({ responses }: Operation) {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const content = successes[0]?.[1].content ?? {};
  const json = content['application/json']?.schema;
  const stream = content['text/event-stream']?.schema;
  if (json) {
    const isRecord = (answer: { content?: Record<string, { schema: Schema }> }): boolean =>
      JSON.stringify(answer.content?.['application/json']?.schema) === JSON.stringify(json);
    const records = Object.entries(responses)
      .filter(([status, answer]) => Number(status) >= 300 && isRecord(answer))
      .map(([status]) => status);
    return { kind: 'json' as const, schema: json, frames: stream, records };
  }
  if (stream && Object.keys(content).length === 1) return { kind: 'events' as const };
  if (content['text/plain']) return { kind: 'text' as const };
  return {
    kind: Object.keys(content).length > 0 ? ('bytes' as const) : ('nothing' as const),
    follows: stream !== undefined,
  };
}

/** The path as an f-string; a part that takes the rest of the path keeps its slashes. */
function urlOf(path: string, parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return `"${path}"`;
  const filled = path.replace(/\{(\w+)\*?\}/g, (_, name: string) => {
    const isRest = path.endsWith(`{${name}}`) && /\/files\/\{/.test(path);
    return `{quote(${snake(name)}, safe='${isRest ? '/' : ''}')}`;
  });
  return `f"${filled}"`;
}

/** Types of Python for schemas: components by their names, objects inside of others by where they stand. */
class Types {
  readonly #components: Record<string, Schema>;
  readonly #defined = new Map<string, string>();
  readonly #aliases = new Map<string, string>();

  constructor(components: Record<string, Schema>) {
    this.#components = components;
    for (const name of Object.keys(components)) this.#define(name, components[name] as Schema);
  }

  /** Everything that was defined: objects, whose fields are text, then what is made of them. */
  text(): string {
    const left = new Map(this.#aliases);
    const aliases: string[] = [];
    // One that names another comes after it.
    while (left.size > 0) {
      const [name, type] = [...left].find(([, one]) => !one.match(/\w+/g)?.some((word) => left.has(word))) ?? ['', ''];
      if (name === '') throw new Error(`types that are made of each other: ${[...left.keys()].join(', ')}`);
      left.delete(name);
      aliases.push(`${name} = ${type}\n`);
    }
    return [...this.#defined.values(), aliases.join('')].filter((text) => text !== '').join('\n\n');
  }

  /** Whether an object has a property that must be given. */
  needs(schema: Schema): boolean {
    const own = this.#resolve(schema);
    const options = (own['anyOf'] ?? own['oneOf']) as Schema[] | undefined;
    return options ? options.some((one) => this.needs(one)) : ((own['required'] ?? []) as string[]).length > 0;
  }

  /** The only list of an object, and the type of its items. */
  listIn(schema: Schema, name: string): { name: string; type: string } | undefined {
    const properties = (this.#resolve(schema)['properties'] ?? {}) as Record<string, Schema>;
    const found = Object.entries(properties).find(([, property]) => property['type'] === 'array');
    if (!found) return undefined;
    const items = (found[1]['items'] ?? {}) as Schema;
    return { name: found[0], type: this.of(items, `${name}${pascal(found[0])}Item`, 'types.') };
  }

  /** The type of a schema; `name` is what an object in it is called. */
  of(schema: Schema, name: string, prefix = ''): string {
    const reference = /^#\/components\/schemas\/(.*)$/.exec(String(schema['$ref']))?.[1];
    if (reference !== undefined) return `${prefix}${reference}`;
    if ('const' in schema) return `Literal[${literal(schema['const'])}]`;
    if (Array.isArray(schema['enum'])) return `Literal[${schema['enum'].map(literal).join(', ')}]`;
    const options = (schema['anyOf'] ?? schema['oneOf']) as Schema[] | undefined;
    if (options)
      return union(options.map((one, at) => this.of(one, options.length > 1 ? `${name}${at + 1}` : name, prefix)));
    const types = [schema['type'] ?? []].flat() as string[];
    return types.length === 0 ? 'Any' : union(types.map((type) => this.#ofType(type, schema, name, prefix)));
  }

  #ofType(type: string, schema: Schema, name: string, prefix: string): string {
    const plain: Record<string, string> = {
      string: 'str',
      integer: 'int',
      number: 'float',
      boolean: 'bool',
      null: 'None',
    };
    if (type === 'array') return `List[${this.of((schema['items'] ?? {}) as Schema, `${name}Item`, prefix)}]`;
    if (type !== 'object') return plain[type] ?? 'Any';
    if (!schema['properties']) {
      const values = schema['additionalProperties'];
      return `Dict[str, ${typeof values === 'object' ? this.of(values as Schema, `${name}Value`, prefix) : 'Any'}]`;
    }
    this.#define(name, schema);
    return `${prefix}${name}`;
  }

  #resolve(schema: Schema): Schema {
    const reference = /^#\/components\/schemas\/(.*)$/.exec(String(schema['$ref']))?.[1];
    return reference === undefined ? schema : this.#resolve(this.#components[reference] as Schema);
  }

  #define(name: string, schema: Schema): void {
    if (this.#defined.has(name)) return;
    // Its place first: an object may hold itself.
    this.#defined.set(name, '');
    const properties = schema['properties'] as Record<string, Schema> | undefined;
    if (!properties) {
      this.#aliases.set(name, this.of(schema, `${name}Of`));
      return;
    }
    const required = new Set(schema['required'] as string[] | undefined);
    const fields = (those: [string, Schema][]): string =>
      `{${those.map(([key, property]) => `"${key}": ${quoted(this.of(property, name + pascal(key)))}`).join(', ')}}`;
    const entries = Object.entries(properties);
    const must = entries.filter(([key]) => required.has(key));
    const may = entries.filter(([key]) => !required.has(key));
    const own = `TypedDict("${name}", ${fields(may)}, total=False)`;
    const lines =
      must.length === 0
        ? `${name} = ${own}\n`
        : may.length === 0
          ? `${name} = TypedDict("${name}", ${fields(must)})\n`
          : `_${name} = TypedDict("_${name}", ${fields(must)})\n\n\nclass ${name}(_${name}, total=False):\n${may
              .map(([key, property]) => `    ${key}: ${this.of(property, name + pascal(key))}`)
              .join('\n')}\n`;
    this.#defined.set(name, lines);
  }
}

const union = (types: readonly string[]): string => {
  const all = [...new Set(types)];
  return all.length === 1 ? (all[0] as string) : `Union[${all.join(', ')}]`;
};
const quoted = (type: string): string => JSON.stringify(type);
const literal = (value: unknown): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
const pascal = (text: string): string => text.replace(/(?:^|[_.-])(\w)/g, (_, first: string) => first.toUpperCase());
/** Words that Python keeps to itself. */
const kept = new Set([
  'from',
  'import',
  'class',
  'global',
  'in',
  'is',
  'lambda',
  'pass',
  'not',
  'with',
  'async',
  'await',
]);
const snake = (text: string): string => {
  const name = text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll('-', '_');
  return kept.has(name) ? `${name}_` : name;
};
const doc = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, "'").replace(/\.?$/, '.');
