import { type Route, restParameter, withoutNulls, wordsFor } from '@svc/contract';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { addFieldErrors, badRequest } from './errors.ts';

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
    else addFieldErrors(fieldErrors, parsed.error.issues);
  };
  const given = request.params as Record<string, string>;
  const rest = restParameter(route);
  parse('params', params, rest === undefined ? given : withRest(rest, given));
  parse('query', query, request.query);
  parse('headers', headers, request.headers);
  parse('body', body, body && withoutNulls(body, request.body === undefined ? {} : request.body));
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
