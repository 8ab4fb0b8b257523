/** A parameter, an answer or a schema of an OpenAPI document; one that is a `$ref` is the component that it names. */
export function resolved<T extends object>(document: object, part: T): T {
  const { $ref: reference } = part as { $ref?: string };
  if (reference === undefined) return part;
  let found: unknown = document;
  for (const name of reference.split('/').slice(1)) found = (found as Record<string, unknown> | undefined)?.[name];
  if (found === undefined) throw new Error(`${reference} is not in the document`);
  return found as T;
}
