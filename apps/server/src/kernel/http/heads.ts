import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { ApiError, badRequest } from '../base/errors.ts';

/** A head of a request that is not there within this time ends its connection (milliseconds); looked at every 2 s. */
export const headsWithin = { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 };
/** Connections of one address that have sent no whole head yet: a proxy in front opens a few beforehand. */
const mostSilent = 256;
/** Descriptors that other parts of the process need: database, nodes, files, probes. */
const keptDescriptors = 512;
const usualDescriptors = 4_096;

/**
 * Keeps strangers from taking every descriptor with connections that say nothing: fewer connections than the process may
 * have open files, and of each address a bounded number that has not asked for anything.
 */
export function guardConnections(server: Server): void {
  const most = openFiles() ?? usualDescriptors;
  server.maxConnections = Math.max(Math.floor(most / 2), most - keptDescriptors);
  /** Ports of silent connections by address. */
  const silent = new Map<string, Set<number>>();
  const forget = (address: string, port: number): void => {
    const ports = silent.get(address);
    if (ports?.delete(port) && ports.size === 0) silent.delete(address);
  };
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined) return;
    const ports = silent.get(address) ?? new Set();
    if (ports.size >= mostSilent) {
      socket.destroy();
      return;
    }
    silent.set(address, ports.add(port));
    socket.once('close', () => forget(address, port));
  });
  const hasAsked = ({ socket: { remoteAddress = '', remotePort = 0 } }: IncomingMessage): void =>
    forget(remoteAddress, remotePort);
  for (const event of ['request', 'upgrade', 'checkContinue', 'checkExpectation'])
    server.prependListener(event, hasAsked);
}

/** Files that this process may have open; undefined where the system does not say. */
function openFiles(): number | undefined {
  try {
    const [, most] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return most === undefined ? undefined : Number(most);
  } catch {
    return undefined;
  }
}

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
