import { connect, isIP, type Socket } from 'node:net';
import {
  addressesOf,
  canonicalAddress,
  checkUrl,
  OutboundError,
  refused,
  resolveHere,
  resolvePublic,
} from '@svc/netguard';
import type { Egress } from '@svc/sandboxd-api';
import type { EgressRules } from './spec.ts';

const connectMs = 5_000;

/** Form of a host: nothing in it can mean more in a URL than the host. */
const nameForm = /^[a-z0-9._-]{1,253}$/;

/** A connection, or the reason why not; `failed`: it was allowed and did not come about. */
export type Dialed = { socket: Socket } | { reason: string; failed: boolean };

/** Whether a sandbox's own rules let it reach a host. */
function isAllowed(host: string, egress: Egress, rules: EgressRules): boolean {
  if (egress.mode === 'none') return false;
  const names = egress.mode === 'preset' ? rules.presets[egress.preset] : egress.domains;
  return names.some((name) => {
    const wanted = name.toLowerCase().replace(/:\d+$/, '');
    return wanted.startsWith('*.')
      ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
      : host === wanted;
  });
}

/** Why a sandbox's own rules keep it from a host, and what would let it. */
function whyNot(host: string, egress: Egress): string {
  if (egress.mode === 'none') return `${host} is not reached: this sandbox has no egress`;
  const by = egress.mode === 'preset' ? `the preset ${egress.preset}` : 'the allowlist';
  return `${host} is not in ${by} of this sandbox`;
}

/** Connects to a host by name (lower case): its rules, the operator's, and every address that it has are judged first. */
export async function dial(name: string, port: number, egress: Egress, rules: EgressRules): Promise<Dialed> {
  const host = name.replace(/\.$/, '');
  if (!nameForm.test(host) && isIP(host) === 0) return { reason: 'this is no host name', failed: false };
  if (!isAllowed(host, egress, rules)) return { reason: whyNot(host, egress), failed: false };
  try {
    const outbound = { fetchAllowHosts: rules.allowHosts, fetchPorts: rules.ports };
    const target = checkUrl(`http://${host.includes(':') ? `[${host}]` : host}:${port}/`, outbound, ['http:']);
    // The connection goes to the host that was judged: a name that the URL class reads as another one is refused.
    if (target.host !== (canonicalAddress(host) ?? host)) throw refused('host');
    const clock = {
      after(ms: number, work: () => void) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
    };
    const addresses = await addressesOf(target, { public: resolvePublic, here: resolveHere }, clock);
    return { socket: await firstOf(addresses, target.port) };
  } catch (error) {
    const failed = !(error instanceof OutboundError) || error.kind !== 'refused';
    return { reason: error instanceof OutboundError ? error.message : 'no connection', failed };
  }
}

async function firstOf(addresses: readonly string[], port: number): Promise<Socket> {
  let last: unknown;
  for (const address of addresses) {
    try {
      return await connectTo(address, port);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function connectTo(address: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // Both halves close on their own: a client may end its request and still wait for the answer.
    const socket = connect({ host: address, port, allowHalfOpen: true });
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(connectMs, () => fail(new OutboundError('timeout', 'connect')));
    socket.once('error', fail);
    socket.once('connect', () => {
      if (canonicalAddress(socket.remoteAddress ?? '') !== address) return fail(new OutboundError('refused', 'peer'));
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
