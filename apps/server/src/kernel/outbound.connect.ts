import { lookup, Resolver } from 'node:dns/promises';
import type { Client } from 'undici';
import type { Clock } from './clock.ts';
import { canonicalAddress, isPublicAddress } from './outbound.address.ts';
import { OutboundError, refused } from './outbound.error.ts';
import type { Target } from './outbound.url.ts';

/** Answers every address of a name; throws when there is none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

const dnsMs = 2_000;
const connectMs = 3_000;
const idleMs = 5_000;
const mostHeaderBytes = 16_384;

/**
 * Asks the name servers themselves: no hosts file, no search domains, and no thread of the pool held up by a slow
 * server, as `getaddrinfo` would.
 */
export const resolvePublic: Resolve = async (host, signal) => {
  const resolver = new Resolver({ timeout: dnsMs, tries: 1 });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length === 0) throw (found[0] as PromiseRejectedResult).reason;
    return addresses;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};

/** For hosts that the operator named: as this machine knows them, from its hosts file too. */
export const resolveHere: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** The addresses of a target that may be connected to: all that it has, or a refusal when any of them is not public. */
export async function addressesOf(
  target: Target,
  resolve: { public: Resolve; here: Resolve },
  clock: Clock,
): Promise<string[]> {
  if (target.isLiteral) return [target.host];
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(dnsMs, () => {
    limit.abort();
    late.reject(new OutboundError('timeout', 'name look-up'));
  });
  try {
    const asked = target.isAllowedHost ? resolve.here : resolve.public;
    const answers = await Promise.race([asked(target.host, limit.signal), late.promise]);
    const addresses = answers.flatMap((answer) => canonicalAddress(answer) ?? []);
    if (addresses.length === 0) throw new OutboundError('failed', 'the name has no address');
    if (!target.isAllowedHost && !addresses.every(isPublicAddress)) throw refused('address');
    return addresses;
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError('failed', error);
  } finally {
    cancel();
  }
}

/**
 * A client for one request to a target, which connects to the given addresses and to nothing else: the name is not asked
 * for again, and the socket's peer is looked at once more. No proxy, no HTTP/2, no connection kept.
 */
export async function openClient(target: Target, addresses: readonly string[], headersMs: number): Promise<Client> {
  // 26 MB and 80 ms, measured: loaded by the first request only.
  const { Client, buildConnector } = await import('undici');
  const connect = buildConnector({
    timeout: connectMs,
    allowH2: false,
    maxCachedSessions: 0,
    lookup: (_host, options, callback) => {
      const pinned = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
      if (options.all) callback(null, pinned);
      else callback(null, pinned[0]?.address ?? '', pinned[0]?.family);
    },
  });
  return new Client(target.url.origin, {
    connect(options, callback) {
      connect(options, (...result) => {
        const [error, socket] = result;
        if (error !== null) callback(error, null);
        else if (addresses.includes(canonicalAddress(socket.remoteAddress ?? '') ?? '')) callback(null, socket);
        else {
          socket.destroy();
          callback(refused('peer'), null);
        }
      });
    },
    headersTimeout: headersMs,
    bodyTimeout: idleMs,
    maxHeaderSize: mostHeaderBytes,
    pipelining: 1,
  });
}
