import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { testClock } from '../../kernel/base/clock.ts';
import { svcOf } from '../../testing.commands.ts';
import { createAccount, type GatewayOptions, http, type OpenTest, openTest, until } from '../../testing.ts';
import { article, html, jsonAnswer, openWeb, type Serve, type Web } from './tools.testing.ts';

const founded = 'The Widget Works was founded in 1911 by Ana Pop in Cluj, and made 40,000 widgets in its first year.';
const sunday =
  'It does not sell widgets on Sundays, and has never raised the price of 12.50 lei in all of these years.';

/** A gateway, a web, and a SearXNG on it that answers what `found` says. */
async function openSearch(search?: (web: Web) => object[], options: GatewayOptions = {}) {
  await using opening = new AsyncDisposableStack();
  const web = opening.use(await openWeb());
  // It stands: no limit comes by itself on a busy machine.
  const clock = testClock();
  const folder = mkdtempSync(join(tmpdir(), 'svc-providers-'));
  opening.defer(() => rmSync(folder, { recursive: true }));
  const providers = join(folder, 'providers.json');
  const sources = search?.(web) ?? [
    { id: 'searxng', kind: 'searxng', base_url: `http://127.0.0.1:${web.port}/searxng` },
  ];
  writeFileSync(providers, JSON.stringify({ search: sources }));
  const t = opening.use(
    await openTest({ clock, ...options, settings: { ...web.settings, ...options.settings, SVC_PROVIDERS: providers } }),
  );
  const stack = opening.move();
  return { web, clock, t, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const results = (
  web: Web,
  found: { path: string; content: string; host?: string; title?: string; publishedDate?: string }[],
): Serve =>
  jsonAnswer({
    query: 'q',
    results: found.map(({ path, content, host, title = 'a title of the engine', publishedDate }) => ({
      url: web.url(path, host),
      title,
      content,
      engine: 'test',
      publishedDate,
    })),
  });

const ask = async (t: OpenTest, body: object, key = t.account.key) =>
  http(t.gateway.url, '/v1/tools/search', { method: 'POST', key, body });

const pathOf = (url: string): string => new URL(url).pathname;

describe('a search', () => {
  test('answers only what stands on the pages, in their own words, with every field of the document', async () => {
    await using s = await openSearch();
    const { web, t } = s;
    web.on(
      '/about',
      html(
        article(
          'The Widget Works',
          [founded, sunday],
          '<meta property="article:published_time" content="2026-01-31T10:00:00Z">',
        ),
      ),
    );
    web.on('/lies', html(article('Lies', ['Nothing of what the engine says of this page stands here.'])));
    web.on(
      '/searxng/search',
      results(web, [
        { path: '/lies', content: 'The Widget Works was founded in 1899 by Ion Pop in Iași, and made 90,000 widgets.' },
        { path: '/about?utm_source=engine', content: `${founded.replace('Cluj,', 'Cluj ,').toUpperCase()} …` },
      ]),
    );
    const { status, body } = await ask(t, { query: 'When was the Widget Works founded?' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      { ...body, took_ms: 0, rerank: { ...body.rerank, ms: 0 } },
      {
        results: [
          {
            title: 'The Widget Works',
            url: web.url('/about'),
            snippet: `${founded} ${sunday}`,
            proof: body.results[0]?.proof,
            page_age: '2026-01-31T10:00:00Z',
            source: 'searxng',
            verified: true,
          },
        ],
        provider: 'searxng',
        took_ms: 0,
        cached: false,
        coverage: 0.5,
        sources_tried: ['index', 'searxng'],
        degraded: [],
        intent: 'general',
        rerank: { model: 'bm25', ms: 0, n: 1 },
      },
    );
    const svc = svcOf(t.gateway);
    const file = join(mkdtempSync(join(tmpdir(), 'svc-proof-')), 'proof.json');
    const prove = async (changed: object): Promise<unknown> => {
      writeFileSync(file, JSON.stringify({ ...body.results[0], ...changed }));
      return svc('index', 'prove', file);
    };
    assert.deepEqual(await prove({}), { results: [{ url: web.url('/about'), proven: true }] });
    await assert.rejects(prove({ snippet: `${founded} Never.` }), /does not hold the snippet/);
    await assert.rejects(prove({ proof: { ...body.results[0].proof, sha256: '0'.repeat(64) } }), /another text/);
    await assert.rejects(prove({ url: web.url('/other') }), /no copy of it is kept/);
    const again = await ask(t, { query: ' when was the  WIDGET works founded? ' });
    assert.deepEqual([again.body.cached, again.body.results], [true, body.results]);
  });

  test('ends when enough is verified: a page that never answers does not hold it up, and is no lack', async () => {
    await using s = await openSearch();
    const { web, t, clock } = s;
    let hangs = 0;
    web.on('/slow', () => void (hangs += 1));
    for (const n of [1, 2, 3]) web.on(`/page-${n}`, html(article(`Page ${n}`, [`${n}. ${founded}`, sunday])));
    web.on(
      '/searxng/search',
      results(
        web,
        ['/slow', '/page-1', '/page-2', '/page-3'].map((path) => ({ path, content: founded })),
      ),
    );
    const answer = ask(t, { query: 'When was the Widget Works founded?', limit: 3 });
    let done = false;
    void answer.then(() => (done = true));
    // Well before the time of the whole search: 300 ms of its clock.
    await until(() => hangs > 0);
    for (let turned = 0; !done && turned < 300; turned += 10) {
      await until(
        async () =>
          (
            await t.gateway.kernel.sql<{ n: number }[]>`
        select count(*)::int as n from pages.pages`
          )[0]?.n === 3,
      );
      clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { body } = await answer;
    assert.deepEqual([body.results.length, body.degraded], [3, []]);
    assert.equal((await ask(t, { query: 'When was the Widget Works founded?', limit: 3 })).body.cached, true);
  });

  test('a snippet with another number, or without its negation, is replaced by words of the page', async () => {
    await using s = await openSearch();
    s.web.on('/about', html(article('The Widget Works', [founded, sunday])));
    s.web.on(
      '/searxng/search',
      results(s.web, [
        { path: '/about', content: 'It does sell widgets on Sundays, and has never raised the price of 15.50 lei.' },
      ]),
    );
    const { body } = await ask(s.t, { query: 'widgets price Sundays' });
    assert.deepEqual(
      body.results.map(({ snippet }: { snippet: string }) => snippet),
      [sunday],
    );
  });

  test('pages that an account fetched are found by it alone; what asks not to be indexed is found by nobody', async () => {
    await using s = await openSearch(() => []);
    const { web, t } = s;
    const other = await createAccount(t.gateway);
    web.on('/about', html(article('The Widget Works', [founded, sunday])));
    web.on('/hidden', html(article('Hidden widgets', [founded], '<meta name="robots" content="noindex">')));
    for (const path of ['/about', '/hidden'])
      await http(t.gateway.url, '/v1/tools/fetch', {
        method: 'POST',
        key: t.account.key,
        body: { url: web.url(path) },
      });
    const own = await ask(t, { query: 'widgets founded Cluj' });
    assert.deepEqual(
      own.body.results.map(({ url, source }: { url: string; source: string }) => [pathOf(url), source]),
      [['/about', 'index']],
    );
    const others = await ask(t, { query: 'widgets founded Cluj' }, other.key);
    assert.deepEqual([others.status, others.body.results, others.body.provider], [200, [], 'none']);
  });

  test('domains and freshness hold for the pages themselves, redirects included', async () => {
    await using s = await openSearch();
    const { web, t } = s;
    const day = new Date(Date.now() - 3 * 86_400_000).toISOString();
    web.on('/new', html(article('New', [founded], `<meta property="article:published_time" content="${day}">`)));
    web.on('/old', html(article('Old', [founded], '<meta property="article:published_time" content="2001-01-01">')));
    web.on('/undated', html(article('Undated', [founded])));
    web.on('/moved', (_request, response) => response.writeHead(302, { location: web.url('/new', '127.0.0.2') }).end());
    web.on(
      '/searxng/search',
      results(
        web,
        ['/new', '/old', '/undated', '/moved'].map((path) => ({ path, content: founded })),
      ),
    );
    const paths = async (body: object) =>
      (await ask(t, { query: 'widget works founded', ...body })).body.results
        .map(({ url }: { url: string }) => pathOf(url))
        .sort();
    assert.deepEqual(await paths({ freshness: 'week' }), ['/new', '/new']);
    assert.deepEqual(await paths({ freshness: 'week', exclude_domains: ['127.0.0.2'] }), ['/new']);
  });

  test('sources that are late, lie, say junk or refuse are named, and the answer comes without them', {
    timeout: 60_000,
  }, async () => {
    const faulty = ['junk', 'shape', 'busy', 'endless', 'cut'];
    await using s = await openSearch(({ port }) =>
      ['slow', ...faulty, 'good'].map((id) => ({ id, kind: 'searxng', base_url: `http://127.0.0.1:${port}/${id}` })),
    );
    const { web, t, clock } = s;
    web.on('/about', html(article('The Widget Works', [founded])));
    web.on('/good/search', results(web, [{ path: '/about', content: founded }]));
    web.on('/slow/search', () => {});
    web.on('/junk/search', (_request, response) => response.end('<html>not json'));
    web.on('/shape/search', jsonAnswer({ results: [{ url: 7 }] }));
    web.on('/busy/search', jsonAnswer({}, 429));
    web.on('/endless/search', (request, response) => pour(request, () => response.write(' '.repeat(65_536))));
    web.on('/cut/search', (request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"results":[');
      request.socket.destroy();
    });
    const { metrics } = t.gateway.kernel;
    /** How many sources came to an end in time, the index among them. */
    const inTime = async (): Promise<number> => {
      const counted = await metrics.registry.getSingleMetric('svc_search_sources_total')?.get();
      const ended = (counted?.values ?? []).filter(({ labels }) => labels['outcome'] !== 'late');
      return ended.reduce((sum, { value }) => sum + value, 0);
    };
    for (const round of [1, 2]) {
      const asking = ask(t, { query: 'widget works founded' });
      // Time is turned when all but the slow one have answered, however long a busy machine takes for that.
      await until(async () => (await inTime()) === round * (faulty.length + ['good', 'index'].length));
      clock.advance(2_000);
      const { status, body } = await asking;
      assert.equal(status, 200);
      assert.deepEqual(body.degraded, [
        'source_error:busy',
        'source_error:cut',
        'source_error:endless',
        'source_error:junk',
        'source_error:shape',
        'source_timeout:slow',
      ]);
      // By then the index knows the page too. A degraded answer is not kept.
      assert.deepEqual([body.results.length, body.provider, body.cached], [1, round === 1 ? 'good' : 'index', false]);
    }
  });

  test('one bad item among a source’s results costs that item alone', async () => {
    await using s = await openSearch();
    s.web.on('/about', html(article('The Widget Works', [founded])));
    const good = { url: s.web.url('/about'), title: null, content: founded };
    s.web.on(
      '/searxng/search',
      jsonAnswer({ results: [null, { url: null }, good, { url: 7 }, { url: 'x', content: '<'.repeat(1_000_000) }] }),
    );
    const { body } = await ask(s.t, { query: 'widget works founded' });
    assert.deepEqual([body.degraded, body.results.length], [[], 1]);
  });

  test('with every remote source down the index answers, and without a candidate there 503', async () => {
    await using s = await openSearch(() => [{ id: 'away', kind: 'searxng', base_url: 'http://127.0.0.1:9' }]);
    const { web, t } = s;
    const none = await ask(t, { query: 'widget works founded' });
    assert.deepEqual([none.status, none.body.error.code], [503, 'search_unavailable']);
    web.on('/about', html(article('The Widget Works', [founded])));
    await http(t.gateway.url, '/v1/tools/fetch', {
      method: 'POST',
      key: t.account.key,
      body: { url: web.url('/about') },
    });
    const some = await ask(t, { query: 'widget works founded' });
    assert.deepEqual([some.status, some.body.results.length, some.body.degraded], [200, 1, ['source_error:away']]);
  });

  test('pages that hang are left out by the deadline, and a kept copy stands in for one', {
    timeout: 60_000,
  }, async () => {
    await using s = await openSearch();
    const { web, t, clock } = s;
    web.on('/kept', html(article('Kept', [founded])));
    await http(t.gateway.url, '/v1/tools/fetch', {
      method: 'POST',
      key: t.account.key,
      body: { url: web.url('/kept') },
    });
    await t.gateway.kernel.sql`update pages.pages set fetched_at = now() - interval '2 hours'`;
    web.on('/kept', () => {});
    web.on('/hangs', () => {});
    web.on('/drips', (request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      pour(request, () => response.write('<p>a'), 100);
    });
    web.on(
      '/searxng/search',
      results(
        web,
        ['/kept', '/hangs', '/drips'].map((path) => ({ path, content: founded })),
      ),
    );
    const asking = ask(t, { query: 'widget works founded' });
    const before = web.requests.length;
    await until(() => ['/kept', '/hangs', '/drips'].every((path) => web.requests.slice(before).join().includes(path)));
    // Past the time for pages, and before that of the answer.
    clock.advance(3_600);
    const { body } = await asking;
    assert.deepEqual(body.degraded, ['verify_stale', 'verify_timeout']);
    assert.deepEqual(
      body.results.map(({ url }: { url: string }) => pathOf(url)),
      ['/kept'],
    );
  });
});

/** Writes again and again until the client leaves. */
function pour(request: IncomingMessage, write: () => boolean, everyMs = 0): void {
  const timer = setInterval(write, everyMs);
  request.socket.on('close', () => clearInterval(timer));
}

describe('remote sources', () => {
  test('MediaWiki, SearXNG and Brave are asked as they publish, and understood', async () => {
    process.env['SVC_TEST_BRAVE_KEY'] = 'a-key-of-brave';
    await using s = await openSearch(({ port }) => {
      const base = `http://127.0.0.1:${port}`;
      return [
        { id: 'wiki', kind: 'mediawiki', base_url: `${base}/{lang}` },
        { id: 'brave', kind: 'brave', base_url: `${base}/brave`, api_key_env: 'SVC_TEST_BRAVE_KEY' },
        { id: 'searxng', kind: 'searxng', base_url: `${base}/searxng/` },
      ];
    });
    const { web, t } = s;
    const asked: Record<string, URL> = {};
    let token = '';
    const keep =
      (name: string, serve: Serve): Serve =>
      (request, response) => {
        asked[name] = new URL(request.url ?? '', 'http://web.test');
        token ||= String(request.headers['x-subscription-token'] ?? '');
        serve(request, response);
      };
    web.on(
      '/ro/w/api.php',
      keep(
        'wiki',
        jsonAnswer({
          batchcomplete: true,
          continue: { sroffset: 1, continue: '-||' },
          query: {
            searchinfo: { totalhits: 1 },
            search: [
              {
                ns: 0,
                title: 'Fabrica de roți',
                pageid: 12,
                snippet: '<span class="searchmatch">Fabrica</span> de ro&#539;i',
                timestamp: '2026-02-03T04:05:06Z',
              },
            ],
          },
        }),
      ),
    );
    web.on(
      '/brave/web/search',
      keep(
        'brave',
        jsonAnswer({
          type: 'search',
          query: { original: 'q', more_results_available: false },
          web: {
            type: 'search',
            results: [
              {
                title: 'Roți',
                url: web.url('/roti', '127.0.0.2'),
                description: 'Fabrica de roți',
                page_age: '2026-02-03T04:05:06',
                language: 'ro',
                family_friendly: true,
              },
            ],
          },
        }),
      ),
    );
    web.on('/searxng/search', keep('searxng', results(web, [])));
    const text = 'Fabrica de roți din Cluj a fost înființată în 1911 și nu vinde roți duminica, nici sâmbăta.';
    web.on('/ro/wiki/Fabrica_de_ro%C8%9Bi', html(article('Fabrica de roți', [text])));
    web.on('/roti', html(article('Roți', [text])));
    const { body } = await ask(t, {
      query: 'fabrica de roți din Cluj',
      freshness: 'year',
      exclude_domains: ['example.com'],
    });
    assert.deepEqual(body.degraded, []);
    assert.deepEqual(
      body.results
        .map(({ source, page_age: age }: { source: string; page_age: string }) => [source, age.slice(0, 10)])
        .sort(),
      [
        ['brave', '2026-02-03'],
        ['wiki', '2026-02-03'],
      ],
    );
    assert.deepEqual(
      [
        asked['wiki']?.searchParams.get('srsearch'),
        asked['wiki']?.searchParams.get('list'),
        asked['wiki']?.searchParams.get('format'),
      ],
      ['fabrica de roți din Cluj', 'search', 'json'],
    );
    assert.deepEqual(
      [
        asked['brave']?.searchParams.get('q'),
        asked['brave']?.searchParams.get('freshness'),
        asked['brave']?.searchParams.get('search_lang'),
        token,
      ],
      ['fabrica de roți din Cluj -site:example.com', 'py', 'ro', 'a-key-of-brave'],
    );
    assert.deepEqual(
      [asked['searxng']?.searchParams.get('format'), asked['searxng']?.searchParams.get('time_range')],
      ['json', 'year'],
    );
  });
});
