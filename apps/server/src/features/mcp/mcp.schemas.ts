import { z } from 'zod';
import type { Tool } from './mcp.tools.ts';

type Json = Record<string, unknown>;

/** A tool as `tools/list` shows it. Its schema holds no `$ref`: some clients show no argument behind one. */
export function listed({ name, description, input, hints }: Tool) {
  const { $defs = {}, $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as Json;
  const inputSchema = inlined(schema, $defs as Record<string, unknown>) as { type: 'object' };
  return { name, description, inputSchema, annotations: { ...hints, openWorldHint: false } };
}

/** The schema with each reference replaced by what it names. Ours name nothing that holds itself. */
function inlined(schema: unknown, defs: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inlined(one, defs));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref: ref, ...own } = schema as Json;
  const whole = typeof ref === 'string' ? { ...(defs[ref.replace('#/$defs/', '')] as Json), ...own } : own;
  // Its name in the contract; an argument of that name is no text.
  if (typeof whole['id'] === 'string') delete whole['id'];
  return Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, inlined(value, defs)]));
}
