import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config.ts';
import { alike } from '../base/spellings.ts';

/** The cookie of a login: no page of another host can set one of this name (design: hub, Login and security). */
export const loginCookie = '__Host-svc_login';

/** How long a browser keeps it: as long as a login lasts at most. */
export const loginSeconds = 90 * 86_400;

/** What a browser is told of a cookie of ours. */
interface CookieTerms {
  /** Seconds. */
  readonly maxAge: number;
  readonly sameSite: 'Lax' | 'Strict';
  /** Scripts of our pages may read it. */
  readonly isReadable?: boolean;
}

/** A line of `set-cookie`; `value` null removes the cookie. */
export function cookieLine(name: string, value: string | null, { maxAge, sameSite, isReadable }: CookieTerms): string {
  const age = value === null ? 0 : maxAge;
  return `${name}=${value ?? ''}; Path=/; Max-Age=${age};${isReadable ? '' : ' HttpOnly;'} Secure; SameSite=${sameSite}`;
}

/** The origins of our own pages. On this machine alone `localhost` and its numbers are names of one place. */
export function ownOrigins({ baseUrl, hubUrl, authUrl }: Pick<Config, 'baseUrl' | 'hubUrl' | 'authUrl'>): Set<string> {
  const own = new Set<string>();
  for (const url of [baseUrl, hubUrl, authUrl]) {
    for (const each of alike(url)) own.add(new URL(each).origin);
  }
  return own;
}

/** The value of a cookie; undefined without it, or when it comes with two values. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const values = new Set<string>();
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === name) values.add(part.slice(at + 1).trim());
  }
  return values.size === 1 ? [...values][0] : undefined;
}

/** The names of all cookies that a request brings, as often as they came. */
export const cookieNamesOf = (header: string | undefined): string[] =>
  (header?.split(';') ?? []).map((part) => part.split('=', 1)[0]?.trim() ?? '');

/**
 * The login that a request shows, if one of our own pages sent it. Browsers add cookies to what any page asks, so where the
 * request comes from decides: `Sec-Fetch-Site`, which no page can set; `Origin` in browsers without it, and with WebSockets;
 * a header of ours on reads, where old browsers send no `Origin`.
 */
export function loginOf(
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
  own: ReadonlySet<string>,
  isSocket: boolean,
): string | undefined {
  const { origin, cookie } = headers;
  const site = headers['sec-fetch-site'];
  const isRead = method === 'GET' || method === 'HEAD';
  const isOwn =
    isSocket || (site === undefined && origin !== undefined)
      ? own.has(origin ?? '')
      : site === undefined
        ? isRead && headers['x-svc-hub'] === '1'
        : site === 'same-origin';
  return isOwn ? cookieOf(cookie, loginCookie) : undefined;
}
