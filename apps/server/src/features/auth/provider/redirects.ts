const mostText = 2_000;
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);
/**
 * Schemes that browsers give a meaning: the answer would run as code, be shown, be read on its way, or go to any app
 * (`intent`).
 */
const ofBrowsers = new Set(
  'javascript data vbscript file blob about filesystem view-source ftp ws wss http intent'
    .split(' ')
    .map((one) => `${one}:`),
);

/**
 * Where an app that nobody vouches for may have people sent back to, each address by itself: https, http on the person's own
 * machine, or a scheme of the app, such as `cursor://` (RFC 8252). Anything else has a fault.
 */
export function kindOfRedirect(uri: unknown): 'web' | 'native' | { fault: string } {
  const url = typeof uri === 'string' && uri.length <= mostText ? URL.parse(uri) : null;
  if (!url || url.hash !== '' || String(uri).includes('#'))
    return { fault: 'redirect_uris: whole addresses without a fragment' };
  if (url.username !== '' || url.password !== '' || url.hostname.includes('*'))
    return { fault: 'redirect_uris: whole addresses without a user, a password or a wildcard' };
  if (url.protocol === 'https:') return 'web';
  if (url.protocol === 'http:' && loopback.has(url.hostname)) return 'native';
  if (!ofBrowsers.has(url.protocol)) return 'native';
  return { fault: 'redirect_uris: https, http on a loopback address, or a scheme of the app such as cursor://' };
}

/** Where an answer goes, as a person is shown it: a host, or a scheme with `://`; undefined where there is no address. */
export function placeOfRedirect(uri: string | undefined): string | undefined {
  const url = uri === undefined ? null : URL.parse(uri);
  if (!url) return undefined;
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : `${url.protocol}//`;
}
