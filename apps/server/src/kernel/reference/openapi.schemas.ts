import { z } from 'zod';

/** A JSON Schema, or another part of an OpenAPI document. */
export type JsonSchema = Record<string, unknown>;

/** The schemas of a document: those with an id are components, the others stand where they are used. */
export interface Schemas {
  readonly components: Readonly<Record<string, JsonSchema>>;
  /** The schema of a request. */
  input(type: z.ZodType): JsonSchema;
  /** The schema of an answer. */
  output(type: z.ZodType): JsonSchema;
}

const componentPrefix = '#/components/schemas/';
const inputSuffix = 'Input';
const refPattern = /"#\/components\/schemas\/(\w+)"/g;

/**
 * Converts the types of a document. A component that reads differently as input and as output, because its defaults are
 * filled in, is `<id>Input` on its way in. Throws when two types have one id.
 */
export function createSchemas(outputs: readonly z.ZodType[], inputs: readonly z.ZodType[]): Schemas {
  // All types both ways, so that two types with one id are found wherever they stand.
  const all = [...new Set([...outputs, ...inputs])];
  const output = convert(all, 'output');
  const input = convert(all, 'input');
  const components = withRefs(
    outputs.map((type) => output.of(type)),
    output.components,
  );
  const renamed = new Set<string>();
  const asInput = (schema: JsonSchema): JsonSchema => renameRefs(schema, renamed);
  const isNew = (id: string): boolean => {
    const answered = components[id];
    if (renamed.has(id) || !answered) return false;
    return JSON.stringify(asInput(input.components[id] as JsonSchema)) !== JSON.stringify(answered);
  };
  // A component that refers to a renamed one differs by that too.
  for (let found: string[]; (found = Object.keys(input.components).filter(isNew)).length > 0; ) {
    for (const id of found) renamed.add(id);
  }
  for (const [id, schema] of Object.entries(
    withRefs(
      inputs.map((type) => input.of(type)),
      input.components,
    ),
  )) {
    components[renamed.has(id) ? `${id}${inputSuffix}` : id] = asInput(schema);
  }
  return {
    components: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
    input: (type) => asInput(input.of(type)),
    output: (type) => output.of(type),
  };
}

/** The types as properties of one schema: what has an id comes out as a definition of its own. */
function convert(types: readonly z.ZodType[], io: 'input' | 'output') {
  const positions = new Map(types.map((type, i) => [type, `type${i}`]));
  const whole = z.object(Object.fromEntries(types.map((type, i) => [`type${i}`, type])));
  const converted = z.toJSONSchema(whole, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
    override({ jsonSchema }) {
      // Additive changes ship without notice (document 1): an answer may have more properties.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      // Said by `format` and by `type`; the reader gains nothing from them.
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'uuid') delete jsonSchema.pattern;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const { properties, $defs = {} } = JSON.parse(
    JSON.stringify(converted).replaceAll('"#/$defs/', `"${componentPrefix}`),
  ) as { properties: Record<string, JsonSchema>; $defs?: Record<string, JsonSchema> };
  if (io === 'input') for (const schema of [...Object.values(properties), ...Object.values($defs)]) takeNulls(schema);
  const components = Object.fromEntries(Object.entries($defs).map(([name, { id: _id, ...schema }]) => [name, schema]));
  return {
    components,
    of(type: z.ZodType): JsonSchema {
      const schema = properties[positions.get(type) ?? ''];
      if (!schema) throw new Error('a type of no route');
      return schema;
    },
  };
}

/** In what a caller sends, `null` stands for an optional property that is unset (`withoutNulls` of the contract). */
function takeNulls(schema: JsonSchema): void {
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  const required = new Set(schema['required'] as string[] | undefined);
  for (const [name, property] of Object.entries(properties)) {
    takeNulls(property);
    if (!required.has(name)) properties[name] = orNull(property);
  }
  for (const part of ['items', 'additionalProperties']) {
    if (typeof schema[part] === 'object') takeNulls(schema[part] as JsonSchema);
  }
  for (const part of ['anyOf', 'oneOf', 'allOf'])
    for (const one of (schema[part] ?? []) as JsonSchema[]) takeNulls(one);
}

/** Keywords that describe a property and not its value: they stay outside of the alternative. */
const outside = ['description', 'default', 'title', 'deprecated'];

function orNull(property: JsonSchema): JsonSchema {
  const { type, anyOf } = property;
  const said = Object.entries(property).filter(([key]) => outside.includes(key));
  const value = Object.fromEntries(Object.entries(property).filter(([key]) => !outside.includes(key)));
  // No condition at all: it takes null.
  if (Object.keys(value).length === 0) return property;
  const nullType = { type: 'null' };
  if (Array.isArray(anyOf)) {
    const takes = (anyOf as JsonSchema[]).some((one) => one['type'] === 'null');
    return takes ? property : { ...property, anyOf: [...(anyOf as JsonSchema[]), nullType] };
  }
  if (typeof type === 'string' && !('enum' in value) && !('const' in value))
    return { ...property, type: [type, 'null'] };
  return { ...Object.fromEntries(said), anyOf: [value, nullType] };
}

/** The components that schemas refer to, directly or through one another. */
function withRefs(schemas: readonly JsonSchema[], components: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const found: Record<string, JsonSchema> = {};
  const visit = (schema: JsonSchema): void => {
    for (const [, id = ''] of JSON.stringify(schema).matchAll(refPattern)) {
      if (found[id]) continue;
      found[id] = components[id] as JsonSchema;
      visit(found[id]);
    }
  };
  for (const schema of schemas) visit(schema);
  return found;
}

const renameRefs = (schema: JsonSchema, renamed: ReadonlySet<string>): JsonSchema =>
  JSON.parse(
    JSON.stringify(schema).replace(refPattern, (whole, id: string) =>
      renamed.has(id) ? `"${componentPrefix}${id}${inputSuffix}"` : whole,
    ),
  ) as JsonSchema;
