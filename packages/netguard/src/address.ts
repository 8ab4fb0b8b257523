import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Ranges that are not routed in public, or not to a stranger; whole, so that nothing hangs on what ipaddr.js calls them. */
const denied = [
  // IPv4: this network, private, shared, loopback, link-local (metadata of clouds), protocol assignments, AS112,
  // 6to4 relays, AMT, benchmarking, documentation, multicast, reserved.
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24',
  '203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  // The agent of a cloud on every one of its machines; ipaddr.js calls it unicast.
  '168.63.129.16/32',
  // IPv6 inside 2000::/3: protocol assignments (Teredo, ORCHID, benchmarking), documentation, 6to4, AS112.
  '2001::/23 2001:db8::/32 2002::/16 3fff::/20 2620:4f:8000::/48',
].flatMap((ranges) => ranges.split(' ').map((range) => ipaddr.parseCIDR(range)));

/** The only part of IPv6 that is routed in public; ipaddr.js calls more than it `unicast`. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** An address in its one spelling; undefined for other text. IPv4 in IPv6 stays IPv6. */
export function canonicalAddress(text: string): string | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.parse(text).toString();
}

/** Whether anybody on the public internet has this address (design: tools, Fetch). A text that is no address: false. */
export function isPublicAddress(text: string): boolean {
  // A zone belongs to this machine alone.
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv6 && !address.match(globalUnicast)) return false;
  return !denied.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));
}
