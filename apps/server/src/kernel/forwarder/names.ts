import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../../config.ts';

/** A name that a request asks for: a label below a domain or `localhost`, or the first part of a path. */
export interface AskedName {
  readonly label: string;
  /** The path inside, with its query. */
  readonly path: string;
  /**
   * `domain`: `<label>.<domain>`; `label`: `<label>.localhost`; both are an origin for each name. `path`: `/<label>/…` on a
   * host name that all share, for clients that are no browser.
   */
  readonly by: 'domain' | 'label' | 'path';
}

/** The origin at which the client asks. */
export const originOf = ({ host = '' }: IncomingHttpHeaders, { by }: AskedName): string =>
  `${by === 'domain' ? 'https' : 'http'}://${host}`.toLowerCase();

/** Reads which name a request asks for; undefined: none. No cookie and no page that it came from says so. */
export function askedOf(
  given: string,
  headers: IncomingHttpHeaders,
  domain: string | undefined,
): AskedName | undefined {
  // As to a proxy: the page inside is asked for the path alone.
  const absolute = /^https?:/i.test(given) ? URL.parse(given) : null;
  const url = absolute ? `${absolute.pathname}${absolute.search}` : given;
  const host = nameOf(headers.host);
  if (domain !== undefined) {
    const label = host.endsWith(`.${domain.toLowerCase()}`) ? host.slice(0, -domain.length - 1) : '';
    return label === '' ? undefined : { label, path: url, by: 'domain' };
  }
  if (host.endsWith('.localhost')) return { label: host.slice(0, -'.localhost'.length), path: url, by: 'label' };
  const [, label = '', rest = ''] = /^\/([^/?#]*)(.*)$/s.exec(url) ?? [];
  return { label, path: rest.startsWith('/') ? rest : `/${rest}`, by: 'path' };
}

const nameOf = (host = ''): string => host.toLowerCase().replace(/:\d+$/, '');

/** Names of this machine that every browser and client on it understands. */
const isThisMachine = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/.test(host);

/** Settings that say how names are reached. */
export type AddressConfig = Pick<Config, 'previewDomain' | 'host' | 'baseUrl' | 'baseUrlIsSet'>;

/** Addresses to listen on at which `<label>.localhost` is reached. */
const isReachedAsLocalhost = (host: string): boolean => ['127.0.0.1', '::1', 'localhost'].includes(host);
const isEveryAddress = (host: string): boolean => ['0.0.0.0', '::'].includes(host);

const needsDomain =
  'previews are for this machine only until SVC_PREVIEW_DOMAIN is set: a domain with a wildcard DNS record, and a proxy ' +
  'with its certificate in front of the preview port';

/**
 * The address of a name, or what is missing. With callers on other machines it is a domain: `<label>.localhost` would be
 * their own machine, and an address of this one would be one origin for all names. `listens`: the port of the forwarder.
 */
export function addressOf(
  { previewDomain, host, baseUrl, baseUrlIsSet }: AddressConfig,
  { onDomain, onThisMachine, listens }: { onDomain: string; onThisMachine: string; listens: number | undefined },
): string | { missing: string } {
  if (previewDomain !== undefined) return `https://${onDomain}.${previewDomain}/`;
  // The base address says where clients are: the gateway of a container listens on every address.
  const isNear = baseUrlIsSet ? isThisMachine(new URL(baseUrl).hostname) : !isEveryAddress(host);
  if (!isNear || !(isReachedAsLocalhost(host) || isEveryAddress(host))) return { missing: needsDomain };
  if (listens === undefined) return { missing: 'previews have no port here; set SVC_PREVIEW_PORT to a free one' };
  return `http://${onThisMachine}.localhost:${listens}/`;
}

/**
 * Where a browser that asked by path has to go instead; undefined: nowhere, it is on another machine. The port is the one
 * that it used: a tunnel may lead from another one to here.
 */
export function ownOriginOf({ label, path }: AskedName, { host = '' }: IncomingHttpHeaders): string | undefined {
  const port = /:\d+$/.exec(host)?.[0] ?? '';
  return isThisMachine(nameOf(host)) ? `http://${label}.localhost${port}${path}` : undefined;
}

/**
 * Whether a browser asks: all send one of these to this machine, and no page can keep them away. `Sec-Fetch-Mode` alone
 * is what the `fetch` of Node.js sends.
 */
export const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-site'] !== undefined || headers['sec-fetch-dest'] !== undefined;
