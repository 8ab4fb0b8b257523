import assert from 'node:assert/strict';

type Schema = Record<string, unknown>;
interface Operation {
  method: string;
  path: string;
  body: Schema | undefined;
  parameters: { name: string; in: string; required?: boolean; schema: Schema }[];
}

/**
 * A client as strict generators make it, from the published document and nothing else: every property of a body that a
 * caller leaves out is sent as `null`, what the document does not name cannot be sent, and what an answer has beyond the
 * document is let be.
 */
export class StrictClient {
  readonly #url: string;
  readonly #key: string;
  readonly #document: Schema;
  readonly #operations = new Map<string, Operation>();

  private constructor(url: string, key: string, document: Schema) {
    this.#url = url;
    this.#key = key;
    this.#document = document;
    for (const [path, methods] of Object.entries(document['paths'] as Record<string, Record<string, Schema>>)) {
      for (const [method, operation] of Object.entries(methods)) {
        const id = operation['operationId'] as string | undefined;
        if (id === undefined) continue;
        const content = ((operation['requestBody'] as Schema | undefined)?.['content'] ?? {}) as Record<string, Schema>;
        const parameters = ((operation['parameters'] ?? []) as Schema[]).map((one) => this.#resolved(one));
        const body = content['application/json']?.['schema'] as Schema | undefined;
        const own = { body, parameters: parameters as unknown as Operation['parameters'] };
        this.#operations.set(id, { method: method.toUpperCase(), path, ...own });
      }
    }
  }

  static async of(url: string, key: string): Promise<StrictClient> {
    return new StrictClient(url, key, (await (await fetch(`${url}/openapi.json`)).json()) as Schema);
  }

  /** Calls an operation; fails unless it goes well. */
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape are looked into
  async call(
    id: string,
    given: { params?: Record<string, string | number>; body?: object; device?: string } = {},
  ): Promise<any> {
    const operation = this.#operations.get(id) ?? assert.fail(`${id} is not in the document`);
    const params = given.params ?? {};
    const query = new URLSearchParams();
    const headers: Record<string, string> = { authorization: `Bearer ${this.#key}` };
    if (given.device !== undefined) headers['x-svc-device'] = given.device;
    let path = operation.path;
    for (const parameter of operation.parameters) {
      const { name } = parameter;
      const value = params[name];
      if (value === undefined) assert.ok(parameter.required !== true || name === 'x-svc-device', `${id} needs ${name}`);
      else if (parameter.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(String(value)));
      else if (parameter.in === 'query') query.set(name, String(value));
    }
    const body = operation.body === undefined ? undefined : this.#filled(operation.body, given.body ?? {}, id);
    if (body !== undefined) headers['content-type'] = 'application/json';
    const answer = await fetch(`${this.#url}${path}${query.size === 0 ? '' : `?${query.toString()}`}`, {
      method: operation.method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${id}: ${answer.status} ${text}\nsent: ${JSON.stringify(body)}`);
    return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
  }

  /** A value with `null` for every property that its schema names and it leaves out. */
  #filled(schema: Schema, value: unknown, where: string): unknown {
    const own = this.#resolved(schema);
    const options = [own['anyOf'], own['oneOf']].flatMap((list) => (list ?? []) as Schema[]);
    if (value === null) return null;
    if (options.length > 0) return this.#filledAs(options, value, where);
    if (Array.isArray(value)) {
      return value.map((one, at) => this.#filled((own['items'] ?? {}) as Schema, one, `${where}.${at}`));
    }
    if (typeof value !== 'object') return value;
    const properties = own['properties'] as Record<string, Schema> | undefined;
    if (properties === undefined) return value;
    const others = Object.keys(value).filter((name) => !(name in properties));
    const isOpen = own['additionalProperties'] !== undefined && own['additionalProperties'] !== false;
    assert.ok(others.length === 0 || isOpen, `${where}: the document does not name ${others.join(', ')}`);
    const filled = Object.entries(properties).map(([name, property]) => {
      const part = (value as Record<string, unknown>)[name];
      const required = ((own['required'] ?? []) as string[]).includes(name);
      assert.ok(part !== undefined || !required, `${where}: ${name} is required`);
      return [name, part === undefined ? null : this.#filled(property, part, `${where}.${name}`)];
    });
    return { ...value, ...Object.fromEntries(filled) };
  }

  /** By the first alternative that fits: a generator has a type for each. */
  #filledAs(options: readonly Schema[], value: unknown, where: string): unknown {
    let fault: unknown;
    for (const option of options.filter((one) => this.#couldBe(one, value))) {
      try {
        return this.#filled(option, value, where);
      } catch (error) {
        fault ??= error;
      }
    }
    throw fault ?? new Error(`${where}: no alternative of the document fits ${JSON.stringify(value)}`);
  }

  #couldBe(option: Schema, value: unknown): boolean {
    const own = this.#resolved(option);
    if ('const' in own) return own['const'] === value;
    if (Array.isArray(own['enum'])) return own['enum'].includes(value);
    const type = Array.isArray(value) ? 'array' : typeof value;
    const types = [own['type'] ?? type].flat().map((one) => (one === 'integer' ? 'number' : one));
    if (!types.includes(type)) return false;
    if (type !== 'object') return true;
    const properties = Object.entries((own['properties'] ?? {}) as Record<string, Schema>);
    return properties.every(
      ([name, property]) => !('const' in property) || property['const'] === (value as Record<string, unknown>)[name],
    );
  }

  #resolved(schema: Schema): Schema {
    const [, kind, name] = /^#\/components\/(\w+)\/(.*)$/.exec(String(schema['$ref'])) ?? [];
    if (kind === undefined || name === undefined) return schema;
    const components = (this.#document['components'] as Record<string, Record<string, Schema>>)[kind];
    return this.#resolved(components?.[name] ?? assert.fail(`${kind}/${name} is not in the document`));
  }
}
