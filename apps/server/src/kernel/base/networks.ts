/**
 * An IPv4 address, or the /64 of an IPv6 address: a household has as many addresses as it likes in one. A client that is gone
 * has none any more: all of them are one.
 */
export function networkOf(address = ''): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const first = [...groups, ...Array.from({ length: missing }, () => '0'), ...(tail ? tail.split(':') : [])].slice(
    0,
    4,
  );
  return `${first.join(':')}::/64`;
}
