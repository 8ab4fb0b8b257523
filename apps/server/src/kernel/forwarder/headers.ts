import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import { type AskedName, originOf } from './names.ts';

/** Headers that belong to the connection, or to the platform. */
const dropped = new Set([
  'proxy-authorization',
  'proxy-connection',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'host',
  'cookie',
  'referer',
  'x-real-ip',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
]);

/** Headers in which a page has credentials of its own; those of ours stay outside. */
const credentials = new Set(['authorization', 'x-api-key']);

/** Whether a header holds a key of ours, as it is or as the password of HTTP Basic. */
function holdsOurKey(value: string): boolean {
  const [, basic] = /^basic\s+(\S+)/i.exec(value) ?? [];
  return /svc_/i.test(value) || (basic !== undefined && /svc_/i.test(Buffer.from(basic, 'base64').toString('latin1')));
}

/** Headers of an answer that act on everything else of its origin, which by path is not the page's alone. */
const actsOnOrigin =
  /^(?:clear-site-data|strict-transport-security|alt-svc|nel|report(?:-to|ing-endpoints)|public-key-pins|set-login|accept-ch|refresh|access-control-.*|www-authenticate|x-svc-.*)$/;

/** A page as a request names it. */
export interface ForwardedPage {
  /** The port on which it listens inside. */
  readonly port: number;
  readonly asked: AskedName;
  /** Begins the names of its cookies where it is asked for by path, and all pages share a host name. */
  readonly cookiePrefix: string;
  /** The name of a cookie that lets its visitors in: it stays outside, and the page sets none of that name. */
  readonly visitorCookie?: string | undefined;
}

/** The headers as the page inside sees them: host, origin and forwarded host agree, and are its own. */
export function headersInside(headers: IncomingHttpHeaders, page: ForwardedPage): Record<string, string | string[]> {
  const { asked, port } = page;
  const kept = Object.entries(headers).filter(
    ([name, value]) =>
      value !== undefined && !dropped.has(name) && !(credentials.has(name) && holdsOurKey(String(value))),
  );
  const cookies = cookiesInside(headers, page);
  const { host, origin } = insideOf(port);
  const outside = originOf(headers, asked);
  const referer = refererInside(headers.referer, outside, page);
  return {
    ...(Object.fromEntries(kept) as Record<string, string | string[]>),
    // An origin that is not the page's own stays what it is: the page inside may refuse it.
    ...(headers.origin?.toLowerCase() === outside && { origin }),
    ...(referer !== undefined && { referer }),
    host,
    'x-forwarded-host': host,
    'x-forwarded-proto': 'http',
    ...(cookies !== '' && { cookie: cookies }),
  };
}

/** The page as it sees itself. */
const insideOf = (port: number) => ({ host: `localhost:${port}`, origin: `http://localhost:${port}` });

/** Where this page sent the client from. Of other pages it may have a token, and stays outside. */
function refererInside(
  referer: string | undefined,
  outside: string,
  { asked, port }: ForwardedPage,
): string | undefined {
  const own = asked.by === 'path' ? `${outside}/${asked.label}/` : `${outside}/`;
  return referer?.startsWith(own) ? `${insideOf(port).origin}/${referer.slice(own.length)}` : undefined;
}

/**
 * Where the page inside sends its client, as that one reaches it: frameworks answer with the host that they were asked
 * by. Other hosts stay what they are.
 */
function locationOutside(location: string, headers: IncomingHttpHeaders, { asked, port }: ForwardedPage): string {
  const base = `${insideOf(port).origin}${asked.path}`;
  const url = URL.parse(location, base);
  const isOwn = url !== null && /^https?:$/.test(url.protocol) && isInside(url, port);
  if (!isOwn) return location;
  const path = `${url.pathname}${url.search}${url.hash}`;
  if (asked.by === 'path') return `/${asked.label}${path}`;
  return /^(?:https?:)?\/\//i.test(location) ? `${originOf(headers, asked)}${path}` : location;
}

/** Whether an address is the page's own: each name of its machine is, on its port. */
const isInside = ({ hostname, port }: URL, own: number): boolean =>
  /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname) && Number(port) === own;

/** The page's headers, less what belongs to its connection. */
export function headersOutside(
  answer: IncomingMessage,
  request: IncomingMessage,
  page: ForwardedPage,
): OutgoingHttpHeaders {
  const { connection: _, 'keep-alive': __, 'set-cookie': set = [], 'transfer-encoding': ___, ...rest } = answer.headers;
  // `clear-site-data` of a page takes the cookies of all of its site along.
  const { 'service-worker-allowed': ____, 'clear-site-data': _____, ...some } = rest;
  const { 'content-security-policy': policy, location, ...others } = some;
  const { asked } = page;
  const isShown = (name: string): boolean => asked.by !== 'path' || !actsOnOrigin.test(name);
  const shown = Object.fromEntries(Object.entries(others).filter(([name]) => isShown(name)));
  const cookies = setCookiesOutside(set, page);
  // All pages share this origin: a browser that says nothing of itself gives the page one that nobody shares.
  const alone = asked.by === 'path' ? ['sandbox allow-scripts allow-forms'] : [];
  const policies = [...(policy === undefined ? [] : [policy]), ...alone];
  return {
    ...shown,
    ...(location !== undefined && { location: locationOutside(location, request.headers, page) }),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
    ...(policies.length > 0 && { 'content-security-policy': policies.join(', ') }),
    // A search engine that finds the address must not keep it.
    'x-robots-tag': 'noindex',
    'referrer-policy': 'same-origin',
  };
}

/** The page's agreement to a WebSocket, as it said it; cookies are set by pages, not by sockets. */
export function headOfUpgrade({ rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]}`] : []));
  const kept = lines.filter((line) => !/^set-cookie:/i.test(line));
  return `HTTP/1.1 101 Switching Protocols\r\n${kept.join('\r\n')}\r\n\r\n`;
}

/** A head written by hand, for a connection that ends after what follows it. */
export function headOf(status: number, headers: OutgoingHttpHeaders): string {
  const lines = Object.entries({ ...headers, connection: 'close' }).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${one}\r\n`),
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}

/**
 * Cookies that the page inside set. By path all pages and all ports share a host name, so there the page's carry its prefix
 * in their names, and others, the hub's among them, stay outside.
 */
function cookiesInside(headers: IncomingHttpHeaders, { asked: { by }, cookiePrefix, visitorCookie }: ForwardedPage) {
  return [...cookiesOf(headers)]
    .flatMap(([name, value]) => {
      if (name === visitorCookie) return [];
      if (by !== 'path') return isOurs(name) ? [] : [`${name}=${value}`];
      return name.startsWith(cookiePrefix) ? [`${name.slice(cookiePrefix.length)}=${value}`] : [];
    })
    .join('; ');
}

/** Names of cookies of the platform: no page is shown one, and none sets one. */
const isOurs = (name: string): boolean => /^(?:__(?:Host|Secure)-)?svc_/i.test(name);

/** The inner page's cookies as they may be set outside: for this host alone, and by path under a name of its own. */
function setCookiesOutside(
  values: readonly string[],
  { asked: { by, label }, cookiePrefix, visitorCookie }: ForwardedPage,
): string[] {
  return values.flatMap((value) => {
    const [pair = '', ...attributes] = value.split(';');
    const name = pair.includes('=') ? (pair.split('=', 1)[0]?.trim() ?? '') : '';
    // Of one without a name a browser sends the value as if it were the whole.
    if (name === '' || name === visitorCookie || (by !== 'path' && isOurs(name))) return [];
    const kept = attributes.filter((attribute) => !/^\s*domain\s*=/i.test(attribute));
    if (by !== 'path') return [[pair, ...kept].join(';')];
    const others = kept.filter((attribute) => !/^\s*path\s*=/i.test(attribute));
    return [[`${cookiePrefix}${pair.trim()}`, ...others, ` Path=/${label}/`].join(';')];
  });
}

/** The cookies that a client sends. */
export function cookiesOf(headers: IncomingHttpHeaders): Map<string, string> {
  const pairs = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const];
  });
  return new Map(pairs);
}
