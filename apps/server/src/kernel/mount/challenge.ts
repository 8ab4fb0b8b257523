import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config.ts';
import type { Actor } from '../base/actor.ts';
import { ApiError } from '../base/errors.ts';
import { ownOrigins } from './browsers.ts';

/** Where a client learns whom to ask for an access token for `{base_url}/mcp` (RFC 9728), by the name that it reached us at. */
export function metadataUrl(config: Config, { host }: IncomingHttpHeaders): string {
  const { protocol, origin } = new URL(config.baseUrl);
  const asked = `${protocol}//${host}`;
  return `${ownOrigins(config).has(asked) ? asked : origin}/.well-known/oauth-protected-resource/mcp`;
}

/** 403 for a token that lacks a scope, with those to ask for (RFC 6750, 3.1). */
export function insufficientScope(actor: Pick<Actor, 'scopes'>, wanted: readonly string[], metadata: string): ApiError {
  // The least that is enough: no app is sent to ask for the right to change what it wants to read.
  const least = wanted.find((scope) => scope.endsWith(':read')) ?? wanted[0] ?? '';
  const scopes = [...new Set([...actor.scopes, least])].join(' ');
  const challenge = `Bearer error="insufficient_scope", scope="${scopes}", resource_metadata="${metadata}"`;
  return new ApiError('forbidden', `this token lacks the scope "${least}": ask the person for it`, {
    details: { scopes: [...wanted] },
    headers: { 'www-authenticate': challenge },
  });
}

/** A refusal as a client with an access token understands it: whom to ask for one, or which scope it lacks. */
export function challenged(
  error: Error,
  actor: Actor | undefined,
  { metadata, hadKey }: { metadata: string; hadKey: boolean },
): Error {
  if (!(error instanceof ApiError)) return error;
  const wanted = error.details?.['scopes'] as string[] | undefined;
  if (error.status === 403 && actor?.kind === 'token' && wanted) return insufficientScope(actor, wanted, metadata);
  if (error.status !== 401) return error;
  const { code, message, details, headers } = error;
  // A client learns from it that what it has is over, and asks for another (RFC 6750, 3.1).
  const fault = hadKey ? 'error="invalid_token", ' : '';
  const challenge = { 'www-authenticate': `Bearer ${fault}resource_metadata="${metadata}"` };
  return new ApiError(code, message, { ...(details && { details }), headers: { ...headers, ...challenge } });
}
