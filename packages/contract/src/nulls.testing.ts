import { z } from 'zod';
import { formOf, isOptional } from './nulls.ts';

/** The value as a strict generated client sends it: `null` for every optional field that it does not set, at every depth. */
export function withNulls(schema: z.ZodType, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const form = formOf(schema, value);
  if (form instanceof z.ZodArray) {
    return (value as unknown[]).map((one) => withNulls(form.element as z.ZodType, one));
  }
  if (!(form instanceof z.ZodObject)) return value;
  const shape = form.shape as Record<string, z.ZodType>;
  const given = Object.entries(value).map(([name, part]) => [name, shape[name] ? withNulls(shape[name], part) : part]);
  const unset = Object.entries(shape).filter(([name, field]) => !(name in value) && isOptional(field));
  return { ...Object.fromEntries(given), ...Object.fromEntries(unset.map(([name]) => [name, null])) };
}
