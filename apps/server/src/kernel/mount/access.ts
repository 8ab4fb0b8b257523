import { type Route, scopesOf, toolLevels } from '@svc/contract';
import type { Actor } from '../base/actor.ts';
import type { Feature } from '../feature.ts';
import { ApiError } from '../base/errors.ts';

/**
 * Announced (kernel/peers/gateways.ts) with a `CredentialChange` when a key or an account changed. Every gateway then forgets
 * that key, or the keys of that account.
 */
export const credentialsChanged = 'credentials.changed';

/** Whose keys are forgotten and whose open streams end, because rights may have shrunk; null: all keys, no streams. */
export type CredentialChange = { keyId: string } | { accountId: string } | null;

/** The form of a caller's `Authorization` header. */
const bearer = /^Bearer +(\S+) *$/i;
/** The shape of a key anywhere in a query string. */
const keyInText = /svc_[0-9A-Za-z]{38}/;

/** The one answer to a key that is missing, malformed, unknown, expired, paused or revoked (document 1, Errors). */
export function invalidApiKey(message = 'a valid API key is required: Authorization: Bearer svc_…'): ApiError {
  return new ApiError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
}

/**
 * Reads the key's text from the header. A key in the query string is refused even beside a valid header: URLs end up
 * in logs and histories (document 1, Authentication 3).
 */
export function bearerKey(authorization: string | undefined, url: string): string {
  const query = url.indexOf('?');
  if (query >= 0 && keyInText.test(decode(url.slice(query)))) {
    throw invalidApiKey(
      'an API key in a query string is refused; send it as Authorization: Bearer, and revoke this one',
    );
  }
  const text = authorization === undefined ? undefined : bearer.exec(authorization)?.[1];
  if (text === undefined) throw invalidApiKey();
  return text;
}

/** Decodes the escapes of ASCII characters, one by one: a malformed one elsewhere hides no key. */
const decode = (text: string): string =>
  text.includes('%')
    ? text.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)))
    : text;

/**
 * Checks of an authenticated caller in the documented order: 403 suspended account, 402 subscription, 403 scope and tool level, 429 spend cap.
 * Rate limits come after (design: kernel, Order of checks).
 */
export function checkAccess(feature: string, route: Route, actor: Actor): void {
  if (actor.suspended) {
    throw new ApiError('account_suspended', 'this account is suspended; ask whoever runs this installation');
  }
  if (actor.subscription !== 'active') {
    throw new ApiError('subscription_inactive', 'the subscription behind this key is inactive; renew it to go on');
  }
  const wanted = scopesOf(feature, route);
  if (!hasScope(actor.scopes, wanted)) {
    const message = `this key lacks the scope ${wanted.map((scope) => `"${scope}"`).join(' or ')}`;
    throw new ApiError('forbidden', message, { details: { scopes: [...wanted] } });
  }
  if (route.toolLevel && toolLevels.indexOf(actor.toolLevel) < toolLevels.indexOf(route.toolLevel)) {
    throw new ApiError('forbidden', `this route needs tool level ${route.toolLevel}; the key has ${actor.toolLevel}`);
  }
  if (route.metered && actor.spent) {
    throw new ApiError('quota_exceeded', 'the spend cap of this key is reached; raise it to go on', {
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    });
  }
}

/** Checks a caller as `checkAccess` does, and then whether the feature is switched off for its account. */
export function checkCaller({ name, gate }: Pick<Feature, 'name' | 'gate'>, route: Route, actor: Actor): void {
  checkAccess(name, route, actor);
  gate?.(actor);
}

/** Whether a key that has the scopes `held` has one of `wanted`; `*` is every scope. */
export function hasScope(held: readonly string[], wanted: readonly string[]): boolean {
  return held.some((scope) => scope === '*' || wanted.includes(scope));
}
