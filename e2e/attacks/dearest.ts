/** A schema of the OpenAPI document, as far as bodies are made from it. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  maxItems?: number;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  maxLength?: number;
  maximum?: number;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
}

/** An operation with the dearest body that its schema admits. */
export interface DearCall {
  id: string;
  method: string;
  path: string;
  body: string | undefined;
}

const longestText = 200_000;
const mostItems = 5_000;
const mostNames = 500;
const deepest = 8;
/** Under the limit of bodies. */
const mostBytes = 11 * 1024 * 1024;

/** Every operation that takes JSON or nothing, with the longest texts, lists and maps that it admits; examples fill the rest. */
export function dearestCalls({ paths, components }: Document): DearCall[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId: id, parameters = [], requestBody }]) => {
      const json = requestBody?.content['application/json'];
      const values = new Map(
        parameters.map(({ name, example }) => [name, typeof example === 'string' ? example : 'x']),
      );
      const filled = path.replace(/\{(\w+)\*?\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? 'x'));
      const body = json && JSON.stringify(dearest(json.schema, json.example, components.schemas, 0));
      return { id, method: method.toUpperCase(), path: filled, body };
    }),
  );
}

/** The dearest body of one operation, around an example that is valid; undefined for one that takes no JSON. */
export function dearestBody({ paths, components }: Document, id: string, example: unknown): unknown {
  const found = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .find(({ operationId }) => operationId === id);
  const json = found?.requestBody?.content['application/json'];
  return json && dearest(json.schema, example, components.schemas, 0);
}

/** The fields that an answer says are wrong; `body` where it names none. */
export function refusedOf(answer: string): string[] {
  const { error } = JSON.parse(answer) as { error: { details?: { fieldErrors?: object } } };
  const fields = Object.keys(error.details?.fieldErrors ?? {});
  return fields.length > 0 ? fields : ['body'];
}

/**
 * A body with what was refused as in the example, or left out: what a schema of the document does not tell. Where that
 * changes nothing, with all that it is a part of.
 */
export function withLess(body: unknown, example: unknown, refused: readonly string[]): unknown {
  const take = (paths: readonly string[]): unknown =>
    paths.reduce((given, path) => (path === 'body' ? example : without(given, example, path.split('.'))), body);
  const less = take(refused);
  if (JSON.stringify(less) !== JSON.stringify(body)) return less;
  return take(refused.map((path) => path.split('.', 1).join('')));
}

/** What stands for one entry of a list stands for all: each is the same. */
function without(value: unknown, example: unknown, [name = '', ...rest]: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return example;
  if (Array.isArray(value)) {
    const [first] = Array.isArray(example) ? (example as unknown[]) : [];
    return rest.length === 0 ? example : value.map((entry: unknown) => without(entry, first, rest));
  }
  const known = (example ?? {}) as Record<string, unknown>;
  const given = { ...(value as Record<string, unknown>) };
  // It was left out before, and cannot be.
  if (rest.length === 0 && given[name] === undefined && known[name] === undefined) return example;
  const next = rest.length === 0 ? known[name] : without(given[name], known[name], rest);
  if (next === undefined) delete given[name];
  else given[name] = next;
  return given;
}

/** The dearest value of a schema; `example` is one that is valid, where there is one. */
function dearest(given: Schema, example: unknown, all: Record<string, Schema>, depth: number): unknown {
  const schema = resolved(given, example, all);
  if (depth > deepest) return example ?? null;
  if ('const' in schema) return schema.const;
  if (schema.enum) return example ?? schema.enum[0];
  const types = [schema.type ?? []].flat();
  if (types.includes('object') || schema.properties) return dearestObject(schema, example, all, depth);
  if (types.includes('array')) return dearestArray(schema, example, all, depth);
  if (types.includes('string')) {
    if (schema.format !== undefined || schema.pattern !== undefined) return example ?? 'x';
    return 'é'.repeat(Math.min(schema.maxLength ?? longestText, longestText));
  }
  return example ?? schema.maximum ?? (types.includes('boolean') ? true : types.length === 0 ? 'x' : 1);
}

function resolved(given: Schema, example: unknown, all: Record<string, Schema>): Schema {
  const named = given.$ref === undefined ? given : (all[given.$ref.split('/').at(-1) ?? ''] ?? {});
  const [variants] = [named.oneOf, named.anyOf, named.allOf].filter((some) => some !== undefined);
  if (!variants) return named;
  const size = (schema: Schema): number => JSON.stringify(resolved(schema, example, all)).length;
  const fitting = variants.filter((schema) => fits(resolved(schema, example, all), example));
  return resolved(
    (fitting.length > 0 ? fitting : variants).toSorted((a, b) => size(b) - size(a))[0] ?? {},
    example,
    all,
  );
}

/** Whether the example may be of the variant: the texts by which variants are told apart agree. */
const fits = (schema: Schema, example: unknown): boolean =>
  typeof example !== 'object' || example === null
    ? true
    : Object.entries(schema.properties ?? {}).every(
        ([name, { const: text }]) => text === undefined || text === (example as Record<string, unknown>)[name],
      );

function dearestObject(schema: Schema, example: unknown, all: Record<string, Schema>, depth: number): object {
  const known = (example ?? {}) as Record<string, unknown>;
  const made = Object.entries(schema.properties ?? {}).map(([name, inner]) => [
    name,
    dearest(inner, known[name], all, depth + 1),
  ]);
  const rest = schema.additionalProperties;
  const isMap = typeof rest === 'object' && made.length === 0;
  const names = isMap
    ? Array.from({ length: mostNames }, (_, n) => [`k${n}`, dearest(rest, undefined, all, deepest)])
    : [];
  return Object.fromEntries([...made, ...names]);
}

function dearestArray(schema: Schema, example: unknown, all: Record<string, Schema>, depth: number): unknown[] {
  const [first] = Array.isArray(example) ? (example as unknown[]) : [];
  const item = dearest(schema.items ?? {}, first, all, depth + 1);
  const bytes = Buffer.byteLength(JSON.stringify(item) ?? '') + 1;
  const length = Math.min(schema.maxItems ?? mostItems, Math.max(1, Math.floor(mostBytes / 2 / bytes)));
  return Array.from({ length }, () => item);
}
