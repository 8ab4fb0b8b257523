import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
/** 130 bits; a DNS label has room for 63 characters and does not tell upper from lower case. */
const length = 26;

/** A fresh token. */
export function createToken(): string {
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
}

const isToken = (text: string): boolean => /^[a-z2-7]{26}$/.test(text);

/** Under which a token is stored. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Cookie of the path form, which tells a page's absolute paths which preview they belong to. */
const cookieName = 'svc_preview';

/** What a request asks for: a token, and the path as it is inside. */
export interface Asked {
  token: string;
  /** Of the domain form: the port in the name must be that of the preview. */
  port?: number;
  path: string;
  /** The token was in the path, so the cookie must be set. */
  setsCookie: boolean;
  /** The preview shares its host name with others. */
  isByPath: boolean;
}

/** Reads a request by `<port>-<token>.<domain>`, by `/<token>/…`, or by the cookie of the latter; undefined: by none. */
export function askedOf(url: string, headers: IncomingHttpHeaders, domain: string | undefined): Asked | undefined {
  if (domain !== undefined) {
    const host = (headers.host ?? '').toLowerCase().replace(/:\d+$/, '');
    const label = host.endsWith(`.${domain.toLowerCase()}`) ? host.slice(0, -domain.length - 1) : '';
    const [, port, token] = /^(\d{1,5})-([a-z2-7]{26})$/.exec(label) ?? [];
    return token === undefined
      ? undefined
      : { token, port: Number(port), path: url, setsCookie: false, isByPath: false };
  }
  const [, first = '', rest = ''] = /^\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  const byPath = { isByPath: true };
  if (isToken(first)) {
    return { ...byPath, token: first, path: rest.startsWith('/') ? rest : `/${rest}`, setsCookie: true };
  }
  // A page's absolute paths: where it came from says whose they are; the cookie is only of the preview opened last.
  const token = refererToken(headers) ?? cookiesOf(headers).get(cookieName);
  return token === undefined || !isToken(token) ? undefined : { ...byPath, token, path: url, setsCookie: false };
}

/** The token in the address of the page that asks, when it is one of this listener. */
function refererToken({ referer = '', host }: IncomingHttpHeaders): string | undefined {
  if (!URL.canParse(referer) || new URL(referer).host !== host) return undefined;
  const [, first = ''] = new URL(referer).pathname.split('/');
  return isToken(first) ? first : undefined;
}

/** Headers that belong to the connection, or to the platform. */
const dropped = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-connection',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'host',
  'cookie',
  'x-api-key',
  // It has the token of the page that asks, which may be another's.
  'referer',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
]);

/** The headers as the page inside sees them. `isOwnOrigin`: the preview has a host name to itself. */
export function headersInside(
  headers: IncomingHttpHeaders,
  preview: { port: number; token: string; isOwnOrigin: boolean; proto: string },
): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name, value]) => !dropped.has(name) && value !== undefined);
  const cookies = cookiesInside(headers, preview);
  return {
    ...(Object.fromEntries(kept) as Record<string, string | string[]>),
    host: `localhost:${preview.port}`,
    'x-forwarded-host': headers.host ?? '',
    'x-forwarded-proto': preview.proto,
    ...(cookies !== '' && { cookie: cookies }),
  };
}

/**
 * Cookies that the page inside set. Host names are shared by all ports, so in the path form the page's carry the
 * token's beginning in their names, and others, the hub's among them, stay outside.
 */
function cookiesInside(headers: IncomingHttpHeaders, { token, isOwnOrigin }: { token: string; isOwnOrigin: boolean }) {
  const prefix = prefixOf(token);
  return [...cookiesOf(headers)]
    .flatMap(([name, value]) => {
      if (isOwnOrigin) return name.startsWith('svc_') ? [] : [`${name}=${value}`];
      return name.startsWith(prefix) ? [`${name.slice(prefix.length)}=${value}`] : [];
    })
    .join('; ');
}

const prefixOf = (token: string): string => `p${token.slice(0, 8)}_`;

/** What the page inside sets, as it may stand outside: for this host alone, and under a name of its own. */
export function setCookiesOutside(
  values: readonly string[],
  preview: { token: string; isOwnOrigin: boolean },
): string[] {
  return values.map((value) => {
    const [pair = '', ...attributes] = value.split(';');
    const kept = attributes.filter((attribute) => !/^\s*domain\s*=/i.test(attribute));
    return [preview.isOwnOrigin ? pair : `${prefixOf(preview.token)}${pair.trim()}`, ...kept].join(';');
  });
}

/** The cookie that tells absolute paths apart. */
export const ownCookie = (token: string): string => `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Lax`;

function cookiesOf(headers: IncomingHttpHeaders): Map<string, string> {
  const pairs = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const];
  });
  return new Map(pairs);
}
