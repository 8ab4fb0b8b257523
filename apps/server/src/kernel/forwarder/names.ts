import type { IncomingHttpHeaders } from 'node:http';

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

/** Reads which name a request asks for; undefined: none. No cookie and no page that it came from says so. */
export function askedOf(url: string, headers: IncomingHttpHeaders, domain: string | undefined): AskedName | undefined {
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
export const isThisMachine = (host: string): boolean => /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/.test(host);

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
