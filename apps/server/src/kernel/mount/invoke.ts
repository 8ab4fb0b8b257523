import { checkCaller } from './access.ts';
import type { Context } from '../http/context.ts';
import { addFieldErrors, badRequest } from '../base/errors.ts';
import { Answer, type Feature, type Operation } from '../feature.ts';
import { Json, wordsFor } from '@svc/contract';
import type { z } from 'zod';

/** The input of an operation besides its context. */
export interface Invocation {
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
}

/**
 * Checks the caller of an operation, and what it is given, as its own route does: rights, the feature's gate, schemas. The
 * rate is that of the request by which it came.
 */
export function admit(
  feature: Feature,
  verb: string,
  { actor }: Pick<Context, 'actor'>,
  given: Invocation,
): { operation: Operation; input: Record<string, unknown> } {
  const operation = feature.operations[verb];
  if (!operation) throw new Error(`${feature.name} has no operation ${verb}`);
  const { route } = operation;
  checkCaller(feature, route, actor);
  const fieldErrors: Record<string, string[]> = {};
  const input: Record<string, unknown> = {};
  const parse = (name: keyof Invocation, schema: z.ZodType | undefined): void => {
    if (!schema) return;
    const parsed = schema.safeParse(given[name] ?? {}, { error: wordsFor });
    if (parsed.success) input[name] = parsed.data;
    else addFieldErrors(fieldErrors, parsed.error.issues);
  };
  parse('params', route.params);
  parse('query', route.query);
  parse('body', route.takes?.kind === 'json' ? route.takes.schema : undefined);
  const [first] = Object.keys(fieldErrors);
  if (first !== undefined) throw badRequest(`${first}: ${fieldErrors[first]?.[0] ?? 'is invalid'}`, fieldErrors);
  return { operation, input };
}

/**
 * Runs an operation for a request that came another way than by its own route, with the checks and schemas of the route.
 * Answers its body; of bytes a stream.
 */
export async function invoke(feature: Feature, verb: string, context: Context, given: Invocation): Promise<unknown> {
  const { operation, input } = admit(feature, verb, context, given);
  const returned = await operation.run(context, input as never);
  const { body, status } = returned instanceof Answer ? (returned as Answer<unknown>) : new Answer(returned);
  const { answers } = operation.route;
  return answers instanceof Json ? answers.statuses[status ?? answers.status]?.parse(body) : body;
}
