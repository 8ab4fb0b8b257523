import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Json, type Route } from '@svc/contract';
import { resolved } from '../../apps/server/src/kernel/reference/openapi.refs.ts';
import { exampleIds, routeOf } from '../../apps/server/src/testing.examples.ts';

/** Operations that change something, by their ids, whose example can be sent. */
export const writing = (needsNode = false): string[] =>
  exampleIds(needsNode).filter((id) => {
    const { method, also } = routeOf(id);
    return also !== undefined || !['GET', 'OPTIONS'].includes(method);
  });

type Responses = Record<string, { content?: Record<string, { examples?: object }> }>;
type Document = { paths: Record<string, Record<string, { responses: Responses }>> };

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../apps/server/openapi.json'), 'utf8'),
) as Document;

/** The codes of errors by status that the OpenAPI document has for an operation. */
function failuresOf(route: Route): Map<number, Set<string>> {
  const path = `${route.at === 'relay' ? '/relay' : ''}${route.path.replace('*}', '}')}`;
  const known = document.paths[path] ?? document.paths[route.path.replace('*}', '}')] ?? {};
  const { responses = {} } =
    known[(route.also ?? route.method).toLowerCase()] ?? known[route.method.toLowerCase()] ?? {};
  return new Map(
    Object.entries(responses).map(([status, answer]) => [
      Number(status),
      new Set(Object.keys(resolved(document, answer).content?.['application/json']?.examples ?? {})),
    ]),
  );
}

/** Why an answer is none that the operation documents; undefined when it is one. */
export function undocumented(route: Route, status: number, body: unknown): string | undefined {
  if (status < 400) {
    const { answers } = route;
    const usual = answers instanceof Json ? Object.keys(answers.statuses).map(Number) : [200, 201, 204, 206];
    return usual.includes(status) ? undefined : `status ${status}`;
  }
  const code = (body as { error?: { code?: string } } | undefined)?.error?.code;
  const codes = failuresOf(route).get(status);
  if (code === undefined || codes?.has(code) !== true) return `${status} ${code ?? 'without a code'}`;
  // Documented everywhere, and never what a fault of the database or of a disk should be answered with.
  return code === 'internal_error' ? `${status} internal_error` : undefined;
}
