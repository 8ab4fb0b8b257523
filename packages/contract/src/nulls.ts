import { z } from 'zod';

/**
 * The value without each `null` that stands for an unset optional field, at every depth of the objects that the schema
 * describes: clients that are generated from the document send `null` for what they do not set. Where `null` has a meaning
 * (the schema takes it), and in free-form JSON, it stays; for a required field it stays too, and is refused.
 */
export function withoutNulls(schema: z.ZodType, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const form = formOf(schema, value);
  if (form instanceof z.ZodArray) {
    if (!Array.isArray(value)) return value;
    const element = form.element as z.ZodType;
    return value.map((one) => withoutNulls(element, one));
  }
  if (!(form instanceof z.ZodObject) || Array.isArray(value)) return value;
  const shape = form.shape as Record<string, z.ZodType>;
  const given: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (part === null && field && isUnsetBy(field)) continue;
    given[name] = field ? withoutNulls(field, part) : part;
  }
  return given;
}

/** Whether `null` says of this field that it is unset: it may be absent, and has no meaning for `null`. */
const isUnsetBy = (field: z.ZodType): boolean => isOptional(field) && !field.safeParse(null).success;

/** Whether a field may be absent. */
export const isOptional = (field: z.ZodType): boolean => field.safeParse(undefined).success;

/** The schema of a value without wrappers (optional, default, nullable, a transformation), and for a union its form. */
export function formOf(schema: z.ZodType, value: object): z.ZodType {
  const inner = innerOf(schema);
  if (!(inner instanceof z.ZodUnion)) return inner;
  const option = optionFor(inner, value);
  return option ? formOf(option, value) : inner;
}

function innerOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodPipe) return innerOf(schema.in as z.ZodType);
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodReadonly;
  return isWrapper ? innerOf(schema.unwrap() as z.ZodType) : schema;
}

function optionFor(union: z.ZodUnion, value: object): z.ZodType | undefined {
  const options = union.options as readonly z.ZodType[];
  if (!(union instanceof z.ZodDiscriminatedUnion)) {
    return options.find((option) => option.safeParse(withoutNulls(option, value)).success);
  }
  const { discriminator } = union.def;
  const said = (value as Record<string, unknown>)[discriminator];
  return options.find((option) => {
    const inner = innerOf(option);
    return inner instanceof z.ZodObject && (inner.shape[discriminator] as z.ZodType).safeParse(said).success;
  });
}
