import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ZodType } from 'zod';
import { NodeError } from '../error.ts';
import type { SandboxNode } from '../sandboxes/index.ts';

/** One request on its way. */
export interface Call {
  node: SandboxNode;
  request: IncomingMessage;
  response: ServerResponse;
  /** The `{…}` parts of the path. */
  values: Record<string, string>;
  query: URLSearchParams;
  /** Aborts when the caller goes away. */
  signal: AbortSignal;
}

export interface Route {
  method: string;
  /** With `{name}` for a part. */
  path: string;
  /** Answers the body of a 200, undefined for a 204; or writes the answer itself. */
  run(call: Call): Promise<unknown>;
}

/** Longest JSON body: `code` and `stdin` of 1 MiB each, escaped. */
const mostJson = 16 * 1024 * 1024;
const idForm = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

export function matchOf(routes: readonly Route[], method: string, path: string) {
  const parts = path.split('/');
  for (const route of routes) {
    const wanted = route.path.split('/');
    if (route.method !== method || wanted.length !== parts.length) continue;
    const values: Record<string, string> = {};
    const fits = wanted.every((part, index) => {
      const given = parts[index] ?? '';
      const name = /^\{(.*)\}$/.exec(part)?.[1];
      if (name === undefined) return part === given;
      values[name] = given;
      return name !== 'id' || idForm.test(given);
    });
    if (fits) return { route, values };
  }
  throw new NodeError('not_found', 'no such route');
}

/** Reads the JSON body of a request; throws `bad_request`, or what `schema` says. */
export async function readJson<T>(request: IncomingMessage, schema: ZodType<T>): Promise<T> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostJson) throw new NodeError('bad_request', 'the body is too long');
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString() || '{}');
  } catch {
    throw new NodeError('bad_request', 'the body is no JSON');
  }
  return schema.parse(value);
}
