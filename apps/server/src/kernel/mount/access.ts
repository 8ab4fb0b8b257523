import { freshSeconds, type Route, scopesOf, toolLevels } from '@svc/contract';
import type { Actor } from '../base/actor.ts';
import type { Feature } from '../feature.ts';
import { ApiError } from '../base/errors.ts';

/**
 * Announced (kernel/peers/gateways.ts) with a `CredentialChange` when a key or an account changed. Every gateway then forgets
 * that credential, or all of that account.
 */
export const credentialsChanged = 'credentials.changed';

/**
 * Whose credentials are forgotten and whose open streams end, because rights may have shrunk: one of an account, or all of it.
 * Null: all, and no streams. A gateway of an earlier version takes one for all of its account, which does no harm.
 */
export type CredentialChange = { accountId: string; credentialId?: string } | null;

/** The form of a caller's `Authorization` header. */
const bearer = /^Bearer +(\S+) *$/i;
/** The shape of a key anywhere in a query string. */
const keyInText = /svc_(?:[0-9A-Za-z]{38}|[a-z]+_[\w-]{32})/;

/** The one answer to a key that is missing, malformed, unknown, expired, paused or revoked (document 1, Errors). */
export function invalidApiKey(message = 'a valid API key is required: Authorization: Bearer svc_…'): ApiError {
  return new ApiError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
}

/** Reads the text of a key or token from the header. */
export function bearerKey(authorization: string | undefined): string {
  const text = authorization === undefined ? undefined : bearer.exec(authorization)?.[1];
  if (text === undefined) throw invalidApiKey();
  return text;
}

/**
 * Refuses a request with a key in its query string, even beside a valid header: URLs end up in logs and histories (document 1,
 * Authentication 3).
 */
export function refuseKeyInQuery(url: string): void {
  const query = url.indexOf('?');
  if (query >= 0 && keyInText.test(decode(url.slice(query)))) {
    throw invalidApiKey(
      'an API key in a query string is refused; send it as Authorization: Bearer, and revoke this one',
    );
  }
}

/** Decodes the escapes of ASCII characters, one by one: a malformed one elsewhere hides no key. */
const decode = (text: string): string =>
  text.includes('%')
    ? text.replace(/%[0-7][0-9a-f]/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)))
    : text;

/**
 * Checks of an authenticated caller in the documented order: 403 suspended account, 402 subscription, 403 kind of
 * credential, scope and tool level, 429 spend cap.
 * Rate limits come after (design: kernel, Order of checks).
 */
export function checkAccess(feature: string, route: Route, actor: Actor): void {
  if (actor.suspended) {
    throw new ApiError('account_suspended', 'this account is suspended; ask whoever runs this installation');
  }
  if (actor.subscription !== 'active') {
    throw new ApiError('subscription_inactive', 'the subscription behind this key is inactive; renew it to go on');
  }
  checkKind(route, actor);
  const wanted = scopesOf(feature, route);
  if (wanted.length > 0 && !hasScope(actor.scopes, wanted)) {
    const message = `this key lacks the scope ${wanted.map((scope) => `"${scope}"`).join(' or ')}`;
    throw new ApiError('forbidden', message, { details: { scopes: [...wanted] } });
  }
  if (route.ofApps !== undefined) checkOfApps(actor, route.ofApps);
  if (route.toolLevel && toolLevels.indexOf(actor.toolLevel) < toolLevels.indexOf(route.toolLevel)) {
    const message =
      `this route needs tool level ${route.toolLevel}; the key has ${actor.toolLevel}. An operator gives it to an account with ` +
      `svc accounts set --tool-level ${route.toolLevel} (or PATCH /v1/accounts/{id}); then use a key that has it too`;
    throw new ApiError('forbidden', message);
  }
  if (route.metered && actor.spent) {
    throw new ApiError('quota_exceeded', 'the spend cap of this key is reached; raise it to go on', {
      headers: { 'x-should-retry': 'false', 'retry-after': '3600' },
    });
  }
}

/** 403 for a credential of an app that lacks a scope which `<feature>` includes for people's keys and not for apps. */
export function checkOfApps({ connectionId, scopes }: Actor, scope: string): void {
  if (connectionId === undefined || hasScope(scopes, [scope])) return;
  throw new ApiError('forbidden', `this app lacks the scope "${scope}", which nothing else includes for an app`, {
    details: { scopes: [scope] },
  });
}

/** 403 for a credential of a kind that the route does not take. */
function checkKind({ only, refusesLogins }: Route, { kind }: Actor): void {
  if (refusesLogins && kind === 'login')
    throw new ApiError('forbidden', 'this route takes an API key: make one with POST /v1/keys');
  if (only === undefined || only === kind) return;
  if (only === 'login')
    throw new ApiError('sign_in_required', 'this route takes no API key: it acts for a person who is signed in');
  throw new ApiError('forbidden', 'this route takes the access token of an app that a person let in');
}

/**
 * 403 `reauth_required` for a signed-in person who proved who they are longer ago than `withinSeconds`; a key is a proof by
 * itself.
 */
export function checkFresh({ kind, authTime = 0 }: Actor, now: number, withinSeconds = freshSeconds): void {
  if (kind !== 'login' || now - authTime <= withinSeconds * 1000) return;
  throw new ApiError('reauth_required', 'confirm that it is you: POST /v1/me/reauth with your password or a passkey', {
    details: { max_age_s: withinSeconds, methods: ['passkey', 'password'] },
  });
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
