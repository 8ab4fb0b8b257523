import { pascal } from './generate-python.words.ts';

/** A part of the OpenAPI document. */
export type Schema = Record<string, unknown>;

/** Types of Python for schemas: components by their names, objects inside of others by where they stand. */
export class Types {
  readonly #components: Record<string, Schema>;
  readonly #defined = new Map<string, string>();
  readonly #aliases = new Map<string, string>();
  /** Names of objects inside of others, by their schemas: what is said often is one type. */
  readonly #inside = new Map<string, string>();

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
    return [...this.#defined.values(), aliases.join('')].filter((text) => text !== '').join('\n');
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
    const shape = JSON.stringify(schema);
    // What an operation takes and answers has its name.
    const known = /(?:Answer|Body)$/.test(name) ? name : (this.#inside.get(shape) ?? name);
    this.#inside.set(shape, known);
    this.#define(known, schema);
    return `${prefix}${known}`;
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
    const fields = Object.entries(properties).map(([key, property]) => {
      const type = this.of(property, name + pascal(key));
      return `"${key}": ${quoted(required.has(key) ? type : `NotRequired[${type}]`)}`;
    });
    const lines = `${name} = TypedDict("${name}", {${fields.join(', ')}})\n`;
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
