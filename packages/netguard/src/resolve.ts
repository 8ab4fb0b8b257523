import { lookup, Resolver } from 'node:dns/promises';
import { canonicalAddress, isPublicAddress } from './address.ts';
import { OutboundError, refused } from './error.ts';
import type { Target } from './url.ts';

/** The part of a clock that a look-up needs: runs `work` after so many ms; answers how that is called off. */
export interface Timer {
  after(ms: number, work: () => void): () => void;
}

/** Answers every address of a name; throws when it has none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<string[]>;

const dnsMs = 2_000;

/**
 * Asks the name servers themselves: no hosts file, no search domains, and no thread of the pool held up by a slow
 * server, as `getaddrinfo` would. `servers` are addresses such as `127.0.0.1:5353`; without any, those of the machine.
 */
export function resolvePublicAt(servers: readonly string[]): Resolve {
  return async (host, signal) => {
    const resolver = new Resolver({ timeout: dnsMs, tries: 1 });
    if (servers.length > 0) resolver.setServers(servers);
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
}

/** As `resolvePublicAt`, at the name servers of the machine. */
export const resolvePublic: Resolve = resolvePublicAt([]);

/** For hosts that the operator named: as this machine knows them, from its hosts file too. */
export const resolveHere: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** The addresses of a target that may be connected to: all that it has, or a refusal when any of them is not public. */
export async function addressesOf(
  target: Target,
  resolve: { public: Resolve; here: Resolve },
  clock: Timer,
): Promise<string[]> {
  if (target.isLiteral) return [target.host];
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(dnsMs, () => {
    limit.abort();
    late.reject(new OutboundError('timeout', 'name look-up', 'name'));
  });
  try {
    const asked = target.isAllowedHost ? resolve.here : resolve.public;
    const answers = await Promise.race([asked(target.host, limit.signal), late.promise]);
    const addresses = answers.flatMap((answer) => canonicalAddress(answer) ?? []);
    if (addresses.length === 0) throw new OutboundError('failed', 'the name has no address', 'name');
    if (!target.isAllowedHost && !addresses.every(isPublicAddress)) throw refused('address');
    return addresses;
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError('failed', error, 'name');
  } finally {
    cancel();
  }
}
