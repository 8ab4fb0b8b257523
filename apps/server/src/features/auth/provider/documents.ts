import type { Kernel } from '../../../kernel/kernel.ts';

/** A metadata document of a client has so many bytes at most. */
const mostBytes = 64 * 1024;
const timeoutMs = 5_000;

/**
 * Fetches the metadata document of a client, whose address a stranger names: where it leads is judged before anything is
 * connected. A redirect is an answer as any other, which the provider refuses. Rejects for an address that is refused, and for
 * a document that is too long or too late.
 */
export async function fetchDocument({ outbound }: Pick<Kernel, 'outbound'>, url: string): Promise<Response> {
  const { status, headers, body, truncated } = await outbound.request(url, {
    headers: { accept: 'application/json' },
    protocols: ['https:'],
    redirects: 0,
    maxBytes: mostBytes,
    timeoutMs,
  });
  if (truncated) throw new Error('the document is too long');
  const kept = new Headers();
  for (const name of ['cache-control', 'expires', 'content-type']) {
    const value = headers[name];
    if (typeof value === 'string') kept.set(name, value);
  }
  // A response of 1xx or 204 has no body, and none of them is a document.
  return new Response(status >= 200 && status !== 204 && status !== 304 ? new Uint8Array(body) : null, {
    status: status >= 200 ? status : 502,
    headers: kept,
  });
}
