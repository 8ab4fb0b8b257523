import { createHash, randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Config } from '../../../config.ts';

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

/** Names of this machine that every browser and client on it understands. */
const isThisMachine = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/.test(host);
/** Addresses to listen on at which `<token>.localhost` is reached. */
const isReachedAsLocalhost = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host);
const isEveryAddress = (host: string): boolean => ['0.0.0.0', '::'].includes(host);

const needsDomain =
  'previews are for this machine only until SVC_PREVIEW_DOMAIN is set: a domain with a wildcard DNS record, and a proxy ' +
  'with its certificate in front of the preview port';

/**
 * The address that a caller gets, or what is missing. With callers on other machines it is a domain: `<token>.localhost`
 * would be their own machine, and an address of this one would be one origin for all previews.
 */
export function previewUrl(
  config: Pick<Config, 'previewDomain' | 'host' | 'baseUrl' | 'baseUrlIsSet'>,
  { port, token, listens }: { port: number; token: string; listens: number | undefined },
): string | { missing: string } {
  const { previewDomain, host, baseUrl, baseUrlIsSet } = config;
  if (previewDomain !== undefined) return `https://${port}-${token}.${previewDomain}/`;
  // The base address says where clients are: the gateway of a container listens on every address.
  const isNear = baseUrlIsSet ? isThisMachine(new URL(baseUrl).hostname) : !isEveryAddress(host);
  if (!isNear || !(isReachedAsLocalhost(host) || isEveryAddress(host))) return { missing: needsDomain };
  if (listens === undefined) return { missing: 'previews have no port here; set SVC_PREVIEW_PORT to a free one' };
  return `http://${token}.localhost:${listens}/`;
}

/** The preview that a request asks for: its token, and the path inside. */
export interface AskedPreview {
  token: string;
  path: string;
  /**
   * `domain`: `<port>-<token>.<domain>`; `label`: `<token>.localhost`; both are an origin for each preview. `path`:
   * `/<token>/…` on a name that all previews share, for clients that are no browser.
   */
  by: 'domain' | 'label' | 'path';
  /** Of `domain`: the port in the name must be that of the preview. */
  port?: number;
}

/** Reads which preview a request names; undefined: none. No cookie and no page that it came from says so. */
export function askedOf(
  url: string,
  headers: IncomingHttpHeaders,
  domain: string | undefined,
): AskedPreview | undefined {
  const host = nameOf(headers.host);
  if (domain !== undefined) {
    const label = host.endsWith(`.${domain.toLowerCase()}`) ? host.slice(0, -domain.length - 1) : '';
    const [, port, token] = /^(\d{1,5})-([a-z2-7]{26})$/.exec(label) ?? [];
    return token === undefined ? undefined : { token, port: Number(port), path: url, by: 'domain' };
  }
  if (host.endsWith('.localhost')) {
    const token = host.slice(0, -'.localhost'.length);
    return isToken(token) ? { token, path: url, by: 'label' } : undefined;
  }
  const [, token = '', rest = ''] = /^\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  return isToken(token) ? { token, path: rest.startsWith('/') ? rest : `/${rest}`, by: 'path' } : undefined;
}

const nameOf = (host = ''): string => host.toLowerCase().replace(/:\d+$/, '');

/**
 * Where a browser that asked by path has to go instead; undefined: nowhere, it is on another machine. The port is the one
 * that it used: a tunnel may lead from another one to here.
 */
export function ownOriginOf({ token, path }: AskedPreview, { host = '' }: IncomingHttpHeaders): string | undefined {
  const port = /:\d+$/.exec(host)?.[0] ?? '';
  return isThisMachine(nameOf(host)) ? `http://${token}.localhost${port}${path}` : undefined;
}

/**
 * Whether a browser asks: all send one of these to this machine, and no page can keep them away. `Sec-Fetch-Mode` alone
 * is what the `fetch` of Node.js sends.
 */
export const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] !== undefined || headers['sec-fetch-dest'] !== undefined;

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
  'referer',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
]);

/** A preview as a request names it. */
interface Preview {
  port: number;
  asked: AskedPreview;
}

/** The headers as the page inside sees them: host, origin and forwarded host agree, and are its own. */
export function headersInside(headers: IncomingHttpHeaders, preview: Preview): Record<string, string | string[]> {
  const { asked, port } = preview;
  const kept = Object.entries(headers).filter(([name, value]) => !dropped.has(name) && value !== undefined);
  const cookies = cookiesInside(headers, asked);
  const { host, origin } = insideOf(port);
  const outside = outsideOf(headers, asked);
  const referer = refererInside(headers.referer, outside, preview);
  return {
    ...(Object.fromEntries(kept) as Record<string, string | string[]>),
    // An origin that is not the preview's own stays what it is: the page inside may refuse it.
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

/** The origin at which the client asks. */
const outsideOf = ({ host = '' }: IncomingHttpHeaders, { by }: AskedPreview): string =>
  `${by === 'domain' ? 'https' : 'http'}://${host}`.toLowerCase();

/** Where a page of this preview sent the client from. Of other pages it has the token, and stays outside. */
function refererInside(referer: string | undefined, outside: string, { asked, port }: Preview): string | undefined {
  const own = asked.by === 'path' ? `${outside}/${asked.token}/` : `${outside}/`;
  return referer?.startsWith(own) ? `${insideOf(port).origin}/${referer.slice(own.length)}` : undefined;
}

/**
 * Where the page inside sends its client, as that one reaches it: frameworks answer with the host that they were asked
 * by. Other hosts stay what they are.
 */
function locationOutside(location: string, headers: IncomingHttpHeaders, { asked, port }: Preview): string {
  const base = `${insideOf(port).origin}${asked.path}`;
  const url = URL.parse(location, base);
  const isOwn = url !== null && /^https?:$/.test(url.protocol) && isInside(url, port);
  if (!isOwn) return location;
  const path = `${url.pathname}${url.search}${url.hash}`;
  if (asked.by === 'path') return `/${asked.token}${path}`;
  return /^(?:https?:)?\/\//i.test(location) ? `${outsideOf(headers, asked)}${path}` : location;
}

/** Whether an address is the page's own: each name of its machine is, on its port. */
const isInside = ({ hostname, port }: URL, own: number): boolean =>
  /^(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname) && Number(port) === own;

/** The page's headers, less what belongs to its connection. */
export function headersOutside(page: IncomingMessage, request: IncomingMessage, preview: Preview): OutgoingHttpHeaders {
  const { connection: _, 'keep-alive': __, 'set-cookie': set = [], 'transfer-encoding': ___, ...rest } = page.headers;
  const { 'service-worker-allowed': ____, 'content-security-policy': policy, location, ...shown } = rest;
  const { asked } = preview;
  const cookies = setCookiesOutside(set, asked);
  // All previews share this origin: a browser that says nothing of itself gives the page one that nobody shares.
  const alone = asked.by === 'path' ? ['sandbox allow-scripts allow-forms'] : [];
  const policies = [...(policy === undefined ? [] : [policy]), ...alone];
  return {
    ...shown,
    ...(location !== undefined && { location: locationOutside(location, request.headers, preview) }),
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
 * Cookies that the page inside set. By path all previews and all ports share a host name, so there the page's carry the
 * token's beginning in their names, and others, the hub's among them, stay outside.
 */
function cookiesInside(headers: IncomingHttpHeaders, { token, by }: AskedPreview) {
  const prefix = prefixOf(token);
  return [...cookiesOf(headers)]
    .flatMap(([name, value]) => {
      if (by !== 'path') return name.startsWith('svc_') ? [] : [`${name}=${value}`];
      return name.startsWith(prefix) ? [`${name.slice(prefix.length)}=${value}`] : [];
    })
    .join('; ');
}

const prefixOf = (token: string): string => `p${token.slice(0, 8)}_`;

/** The inner page's cookies as they may be set outside: for this host alone, and by path under a name of its own. */
function setCookiesOutside(values: readonly string[], { token, by }: AskedPreview): string[] {
  return values.map((value) => {
    const [pair = '', ...attributes] = value.split(';');
    const kept = attributes.filter((attribute) => !/^\s*domain\s*=/i.test(attribute));
    return [by === 'path' ? `${prefixOf(token)}${pair.trim()}` : pair, ...kept].join(';');
  });
}

function cookiesOf(headers: IncomingHttpHeaders): Map<string, string> {
  const pairs = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const];
  });
  return new Map(pairs);
}
