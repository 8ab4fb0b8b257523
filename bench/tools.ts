// Search and fetch: a page of 100 kB through fetch, beside a bare undici GET of it; a search over 40 pages that are fetched and
// verified each time; the words of pages beside Readability alone and defuddle (`bench/extraction.ts` shows each page).
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { request } from 'undici';
import { scoreExtraction } from './lib/extraction.ts';
import { type Platform, startPlatform, temporaryDataDir } from './lib/platform.ts';
import { atMost, bench, type Row } from './lib/report.ts';
import { median, percentile } from './lib/stats.ts';

const words = (
  'river council budget station harbour engine market winter school bridge letter paper signal window garden valley ' +
  'reported measured opened planned counted founded carried decided built moved repaired promised expected closed'
).split(' ');

/** A sentence that no other place has. */
const sentence = (n: number): string => {
  const at = (k: number): string => words[(n * 7 + k * 13 + (n % 11) * k) % words.length] ?? '';
  return `In ${1900 + (n % 120)} the ${at(1)} ${at(2)} ${at(3)} ${n} ${at(4)} of the ${at(5)} ${at(6)} and ${at(7)} it.`;
};

/** An article of about so many bytes, with what surrounds one. */
function pageOf(n: number, bytes: number): string {
  const paragraphs: string[] = [];
  for (let length = 0, at = n * 10_000; length < bytes; at += 4) {
    const text = `<p>${[0, 1, 2, 3].map((k) => sentence(at + k)).join(' ')}</p>`;
    paragraphs.push(text);
    length += text.length;
  }
  const links = Array.from({ length: 40 }, (_, k) => `<li><a href="/link/${k}">${words[k % words.length]}</a></li>`);
  return `<!doctype html><html lang="en"><head><title>Page ${n}</title></head><body><nav><ul>${links.join('')}</ul></nav>
<main><article><h1>Page ${n}</h1>${paragraphs.join('\n')}</article></main><footer>Imprint</footer></body></html>`;
}

/** Serves pages of 100 kB, and a SearXNG that names the 40 of them in turn with a sentence of each. */
async function startWeb() {
  const pages = new Map<number, string>();
  const page = (n: number): string => {
    const known = pages.get(n) ?? pageOf(n, 100_000);
    pages.set(n, known);
    return known;
  };
  const server = createServer((asked, response) => {
    const url = new URL(asked.url ?? '/', 'http://web.test');
    if (url.pathname === '/search') {
      const from = Number(/\d+/.exec(url.searchParams.get('q') ?? '')?.[0] ?? 0);
      const results = Array.from({ length: 10 }, (_, k) => (from + k * 4) % 40).map((n) => ({
        url: `http://127.0.0.1:${port}/page/${n}`,
        title: `Page ${n}`,
        content: `${sentence(n * 10_000)} ${sentence(n * 10_000 + 1)} …`,
      }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
      return;
    }
    const n = Number(url.pathname.split('/')[2] ?? 0);
    // No copy of it is kept: each search fetches it.
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
      .end(page(n % 40));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Milliseconds of each of so many calls, one after the other; the first ones warm up. */
async function times(count: number, call: (n: number) => Promise<void>): Promise<number[]> {
  const taken: number[] = [];
  for (let n = -20; n < count; n += 1) {
    const began = performance.now();
    await call(n + 20);
    if (n >= 0) taken.push(performance.now() - began);
  }
  return taken;
}

const rowOf = (what: string, taken: readonly number[]): Row => ({
  what,
  p50: median(taken).toFixed(1),
  p99: percentile(taken, 0.99).toFixed(1),
});

/** Asks a tool; fails unless the answer holds what the benchmark counts. */
async function ask({ port, key }: Platform, tool: string, body: object, expected: string): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/tools/${tool}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!text.includes(expected)) throw new Error(`${tool}: ${text.slice(0, 500)}`);
}

await bench('tools', { fetches: 200, searches: 60 }, async ({ fetches, searches }, say) => {
  using web = await startWeb();
  using dataDir = temporaryDataDir();
  const providers = join(dataDir.path, 'search.json');
  const source = { id: 'searxng', kind: 'searxng', base_url: `http://127.0.0.1:${web.port}` };
  writeFileSync(providers, JSON.stringify({ search: [source] }));
  await using platform = await startPlatform(dataDir.path, {
    SVC_PROVIDERS: providers,
    SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    SVC_FETCH_PORTS: String(web.port),
    SVC_RATE_FETCH: '1000000',
    SVC_RATE_SEARCH: '1000000',
  });
  const url = (n: number): string => `http://127.0.0.1:${web.port}/page/${n % 40}?n=${n}`;
  say(`${fetches} fetches`);
  const bare = await times(fetches, async (n) => void (await (await request(url(n))).body.arrayBuffer()));
  const ours = await times(fetches, async (n) => ask(platform, 'fetch', { url: url(n) }, '"final_url"'));
  say(`${searches} searches`);
  const found = await times(searches, async (n) =>
    ask(platform, 'search', { query: `page ${n % 40} ${sentence(n)}` }, '"degraded":[]'),
  );
  const extraction = await scoreExtraction();
  return {
    rows: [
      rowOf('undici GET of 100 kB', bare),
      rowOf('fetch of it', ours),
      rowOf('search: 10 pages of 40 fetched and verified', found),
      { what: 'words of 12 pages', ...extraction.rows.at(-1), page: 'mean' },
    ],
    targets: [
      atMost('ms that fetch adds, p50', median(ours) - median(bare), 15),
      atMost('search p99 ms', percentile(found, 0.99), 4_000),
      ...extraction.targets,
    ],
  };
});
