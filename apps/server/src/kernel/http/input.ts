import { type Route, restParameter, wordsFor } from '@svc/contract';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { badRequest } from './errors.ts';

/** Validates every part that the route declares; the messages of all parts come back at once. */
export function parseInput(route: Route, request: FastifyRequest): unknown {
  const { params, query, headers, takes } = route;
  const body = takes?.kind === 'json' ? takes.schema : undefined;
  if (!params && !query && !headers && !body) return {};
  const fieldErrors: Record<string, string[]> = {};
  const input: Record<string, unknown> = {};
  const parse = (name: string, schema: z.ZodType | undefined, value: unknown): void => {
    if (!schema) return;
    const parsed = schema.safeParse(value, { error: wordsFor });
    if (parsed.success) input[name] = parsed.data;
    else collect(fieldErrors, parsed.error);
  };
  const given = request.params as Record<string, string>;
  const rest = restParameter(route);
  parse('params', params, rest === undefined ? given : withRest(rest, given));
  parse('query', query, request.query);
  parse('headers', headers, request.headers);
  parse('body', body, request.body === undefined ? {} : request.body);
  const fields = Object.keys(fieldErrors);
  if (fields.length > 0) {
    const first = fields[0] as string;
    throw badRequest(`${first}: ${fieldErrors[first]?.[0] ?? 'is invalid'}`, fieldErrors);
  }
  return input;
}

/** The router's `*` under the name that the contract gives it. */
const withRest = (name: string, params: Record<string, string>): Record<string, string | undefined> => ({
  ...params,
  [name]: params['*'],
});

function collect(fieldErrors: Record<string, string[]>, error: z.ZodError): void {
  const flat = z.flattenError(error);
  const faults: Record<string, string[] | undefined> = flat.fieldErrors;
  for (const [field, messages] of Object.entries(faults)) (fieldErrors[field] ??= []).push(...(messages ?? []));
  if (flat.formErrors.length > 0) (fieldErrors['body'] ??= []).push(...flat.formErrors);
}
