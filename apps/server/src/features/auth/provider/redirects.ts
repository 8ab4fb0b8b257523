const mostText = 2_000;
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Where an app that nobody vouches for may have people sent back to: https, or a native app on its own machine or with a scheme
 * that is a domain turned around (RFC 8252). Anything else has a fault.
 */
export function kindOfRedirect(uri: unknown): 'web' | 'native' | { fault: string } {
  const url = typeof uri === 'string' && uri.length <= mostText ? URL.parse(uri) : null;
  if (!url || url.hash !== '' || url.username !== '' || String(uri).includes('#'))
    return { fault: 'redirect_uris: whole addresses without a fragment' };
  if (url.protocol === 'https:') return 'web';
  if (url.protocol === 'http:' && loopback.has(url.hostname)) return 'native';
  if (/^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+:$/.test(url.protocol)) return 'native';
  return { fault: 'redirect_uris: https, an address of this machine, or com.example.app:/…' };
}
