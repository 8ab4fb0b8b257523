import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ApiError, badRequest } from '../base/errors.ts';

/** A head of a request that is not there within this time ends its connection (milliseconds); looked at every 2 s. */
export const headsWithin = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
/** Names under which this installation is reached; undefined: any. */
export type OwnNames = ReadonlySet<string> | undefined;

/**
 * Throws 400 for two `Host` headers, since proxies and servers may take different ones, and 421 for a name that is not the
 * installation's: a page that points its own name here would read the answers. No page can point an IP address.
 */
export function checkHost({ rawHeaders, headers: { host } }: IncomingMessage, names: OwnNames): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) throw badRequest('send one Host header');
  if (names === undefined || host === undefined || isOwn(host, names)) return;
  throw new ApiError(
    'misdirected_request',
    'this is not the host that you asked for; ask at the address of SVC_BASE_URL',
  );
}

function isOwn(host: string, names: ReadonlySet<string>): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return names.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0;
}
