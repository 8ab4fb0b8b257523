import type { Kernel } from '../../../kernel/kernel.ts';

/** A metadata document of a client, or the keys that it names, has so many bytes at most. */
const mostBytes = 64 * 1024;
const timeoutMs = 5_000;

/**
 * Fetches the metadata document of a client, whose address a stranger names: where it leads is judged before anything is
 * connected. A redirect is an answer as any other, which the provider refuses. Rejects for an address that is refused, and for
 * a document that is too long or too late.
 */
async function fetchDocument({ outbound }: Pick<Kernel, 'outbound'>, url: string): Promise<Response> {
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

/** Copies that are kept: 200 of 64 KiB at most. */
const mostCopies = 200;
const leastFreshMs = 60_000;
const mostFreshMs = 3_600_000;
/** A copy answers so long for a server that fails: a hiccup of its host signs nobody out. */
const mostStaleMs = 86_400_000;

interface Copy {
  text: string;
  headers: Headers;
  at: number;
  freshMs: number;
}

/**
 * Fetches documents of clients and the keys that they name, with copies: the library asks for keys at each request that is signed
 * with one. What is not there any more (404) is not answered by a copy.
 */
export function documentsOf(kernel: Pick<Kernel, 'outbound' | 'clock'>): (url: string) => Promise<Response> {
  const copies = new Map<string, Copy>();
  const underWay = new Map<string, Promise<Copy | Response>>();
  const ask = async (url: string): Promise<Copy | Response> => {
    const response = await fetchDocument(kernel, url);
    if (response.status !== 200) return response;
    const copy = { text: await response.text(), headers: response.headers, at: kernel.clock.monotonic(), freshMs: 0 };
    const [, seconds] = /(?:^|[,\s])max-age=(\d{1,9})/.exec(copy.headers.get('cache-control') ?? '') ?? [];
    copy.freshMs = Math.min(mostFreshMs, Math.max(leastFreshMs, Number(seconds ?? 0) * 1_000));
    copies.delete(url);
    copies.set(url, copy);
    const [oldest] = copies.keys();
    if (copies.size > mostCopies && oldest !== undefined) copies.delete(oldest);
    return copy;
  };
  const answer = ({ text, headers }: Copy): Response => new Response(text, { status: 200, headers });
  return async (url) => {
    const known = copies.get(url);
    const age = known ? kernel.clock.monotonic() - known.at : 0;
    if (known && age < known.freshMs) return answer(known);
    const asking = underWay.get(url) ?? ask(url).finally(() => underWay.delete(url));
    underWay.set(url, asking);
    try {
      const got = await asking;
      if (!(got instanceof Response)) return answer(got);
      if (got.status < 500 && got.status !== 429) return got.clone();
      if (known && age < mostStaleMs) return answer(known);
      return got.clone();
    } catch (error) {
      if (known && age < mostStaleMs) return answer(known);
      throw error;
    }
  };
}
