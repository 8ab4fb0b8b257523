import { ApiError } from '../../kernel/base/errors.ts';
import type { RawRoute } from '../../kernel/feature.ts';
import { bearerKey } from '../../kernel/mount/access.ts';
import type { KeyLookup } from '../keys/index.ts';

/** 401 without a valid key, else 404, in the service's own shape: `{ error: string }` (document 1, Errors). */
export async function serveResolve(
  lookup: KeyLookup,
  { request, response }: Parameters<RawRoute['open']>[0],
): Promise<void> {
  const isKnown = await hasKey(lookup, request.headers.authorization);
  const error = isKnown
    ? 'the resolve service is not part of this installation'
    : 'a valid API key is required: Authorization: Bearer svc_…';
  const body = JSON.stringify({ error });
  response.writeHead(isKnown ? 404 : 401, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(!isKnown && { 'www-authenticate': 'Bearer' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
  request.resume();
}

async function hasKey(lookup: KeyLookup, authorization: string | undefined): Promise<boolean> {
  try {
    return (await lookup.authenticate(bearerKey(authorization))) !== undefined;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}
