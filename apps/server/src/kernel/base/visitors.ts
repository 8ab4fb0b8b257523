import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

/**
 * Tells the address of who sent a request: that of its connection, or the one that a trusted proxy says. The same rule as that
 * of `request.ip`, for listeners that are not Fastify's.
 */
export function visitorsBehind(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  if (trustedProxies.length === 0) return ({ socket }) => socket.remoteAddress ?? '';
  const trust = proxyAddr.compile([...trustedProxies]);
  // A client that is gone has no address, which the library does not take.
  return (request) => (request.socket.remoteAddress === undefined ? '' : proxyAddr(request, trust));
}
