import { formOf, type Route, restParameter, withoutNulls, wordsFor } from '@svc/contract';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { addFieldErrors, badRequest } from '../base/errors.ts';

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

const mostNamed = 10;
const longestNamed = 40;

/**
 * Top-level fields of a JSON body that its route does not know, percent-encoded for a header; undefined when there is
 * none, or when the route takes any. A mistyped name would else vanish without a word.
 */
export function ignoredFields({ takes, verbatim }: Route, body: unknown): string | undefined {
  if (takes?.kind !== 'json' || verbatim || typeof body !== 'object' || body === null) return undefined;
  const form = formOf(takes.schema, body);
  if (!(form instanceof z.ZodObject) || form.def.catchall !== undefined) return undefined;
  const names: string[] = [];
  for (const name of Object.keys(body)) {
    if (Object.hasOwn(form.shape, name)) continue;
    names.push(encodeURIComponent(name.slice(0, longestNamed).toWellFormed()));
    if (names.length === mostNamed) break;
  }
  return names.length === 0 ? undefined : names.join(', ');
}
