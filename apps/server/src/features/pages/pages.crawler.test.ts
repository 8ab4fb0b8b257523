import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { testClock } from '../../kernel/base/clock.ts';
import { svcOf } from '../../testing.commands.ts';
import { createAccount, http, openTest, until } from '../../testing.ts';
import { article, html, openWeb } from '../tools/tools.testing.ts';
import { countQueue, enqueue, listFailed, takeDue } from './pages.queue.sql.ts';

const text = 'The Widget Works was founded in 1911 by Ana Pop in Cluj, and made 40,000 widgets in its first year.';

/** A gateway whose clock the test turns, and a web; `crawl` lets the crawler do all that is due. */
async function openCrawl() {
  await using opening = new AsyncDisposableStack();
  const web = opening.use(await openWeb());
  const clock = testClock();
  // The index alone answers searches.
  const t = opening.use(await openTest({ settings: web.settings, clock }));
  const { sql } = t.gateway.kernel;
  const add = (kind: 'page' | 'sitemap', ...paths: string[]) =>
    enqueue(sql, clock, { urls: paths.map((path) => web.url(path)), kind, depth: 0 });
  const crawl = (done: () => Promise<boolean> | boolean) =>
    until(async () => {
      // While a page is under way time stands: its limits go by the same clock.
      const [row] = await sql<{ busy: boolean }[]>`
        select exists (select 1 from pages.queue where leased_until > ${clock.instant()}::timestamptz) as busy`;
      if (row?.busy === false) clock.advance(1_000);
      return done();
    });
  const indexed = async () =>
    (await sql<{ url: string }[]>`select url from pages.pages where account_id is null order by url`).map(
      ({ url }) => new URL(url).pathname,
    );
  const stack = opening.move();
  return { web, clock, t, sql, add, crawl, indexed, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('the index', () => {
  test('is fed by addresses and sitemaps, and every account finds its pages', async () => {
    await using c = await openCrawl();
    for (const path of ['/one', '/two', '/three', '/four']) c.web.on(path, html(article(path, [text])));
    const urlset = (...paths: string[]) =>
      `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths.map((path) => `<url><loc> ${c.web.url(path).replace('&', '&amp;')} </loc></url>`).join('')}
       <url><loc>http://example.com/of-another-site</loc></url></urlset>`;
    c.web.on('/sitemap.xml', (_request, response) =>
      response.end(
        `<sitemapindex><sitemap><loc>${c.web.url('/a.xml')}</loc></sitemap><sitemap><loc>${c.web.url('/b.xml.gz')}</loc></sitemap></sitemapindex>`,
      ),
    );
    c.web.on('/a.xml', (_request, response) => response.end(urlset('/two', '/three')));
    c.web.on('/b.xml.gz', (_request, response) => response.end(gzipSync(urlset('/four'))));
    await c.add('page', '/one');
    await c.add('sitemap', '/sitemap.xml');
    await c.crawl(async () => (await c.indexed()).length === 4 && (await countQueue(c.sql)).waiting === 0);
    assert.deepEqual(await c.indexed(), ['/four', '/one', '/three', '/two']);
    const other = await createAccount(c.t.gateway);
    const { body } = await http(c.t.gateway.url, '/v1/tools/search', {
      method: 'POST',
      key: other.key,
      body: { query: 'widget works founded', domains: ['127.0.0.1'] },
    });
    assert.ok(body.results.length >= 3, JSON.stringify(body));
  });

  test('a sitemap that lists another host alone says so, and adds its pages when the host is named', async () => {
    await using c = await openCrawl();
    const elsewhere = c.web.url('/one', '127.0.0.2');
    c.web.on('/one', html(article('One', [text])));
    c.web.on('/sitemap.xml', (_request, response) =>
      response.end(`<urlset><url><loc>${elsewhere}</loc></url></urlset>`),
    );
    await c.add('sitemap', '/sitemap.xml');
    await c.crawl(async () => (await countQueue(c.sql)).failed === 1);
    const { host } = new URL(elsewhere);
    assert.match(
      (await listFailed(c.sql, 5))[0]?.error ?? '',
      new RegExp(`1 of ${host}: add it with --also-host ${host}`),
    );
    const svc = svcOf(c.t.gateway);
    await assert.rejects(svc('index', 'add', c.web.url('/one'), '--also-host', host), /needs a --sitemap/);
    await svc('index', 'add', '--sitemap', c.web.url('/sitemap.xml'), '--also-host', host);
    await c.crawl(async () => (await c.indexed()).length === 1);
  });

  test('a site is asked one page at a time, no sooner than its robots.txt wants, and only what it allows', async () => {
    await using c = await openCrawl();
    c.web.on('/robots.txt', (_request, response) =>
      response.end(
        'User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: svc\nCrawl-delay: 10\nDisallow: /private\nAllow: /private/open\n',
      ),
    );
    const at: number[] = [];
    let running = 0;
    for (const path of ['/one', '/two', '/private/secret', '/private/open'])
      c.web.on(path, (request, response) => {
        at.push(c.clock.now());
        running += 1;
        assert.equal(running, 1);
        response.once('close', () => (running -= 1));
        html(article(path, [text]))(request, response);
      });
    await c.add('page', '/one', '/two', '/private/secret', '/private/open');
    await c.crawl(async () => (await countQueue(c.sql)).waiting === 0);
    assert.deepEqual(await c.indexed(), ['/one', '/private/open', '/two'].sort());
    assert.deepEqual(
      c.web.requests.filter((line) => line.includes('/private/secret') || line.includes('robots')).length,
      1,
    );
    for (const [index, time] of at.entries()) if (index > 0) assert.ok(time - (at[index - 1] ?? 0) >= 10_000);
  });

  test('a redirect to another site is not followed, and a site without an answer for robots.txt is left alone', async () => {
    await using c = await openCrawl();
    c.web.on('/away', (_request, response) =>
      response.writeHead(302, { location: c.web.url('/one', '127.0.0.2') }).end(),
    );
    c.web.on('/one', html(article('One', [text])));
    await c.add('page', '/away');
    await c.crawl(async () => (await countQueue(c.sql)).waiting === 0);
    assert.deepEqual([await c.indexed(), c.web.requests.some((line) => line.includes('127.0.0.2'))], [[], false]);
    c.web.on('/robots.txt', (_request, response) => response.writeHead(503).end());
    await enqueue(c.sql, c.clock, { urls: [c.web.url('/one', '127.0.0.3')], kind: 'page', depth: 0 });
    await c.crawl(async () => (await countQueue(c.sql)).failed === 1);
    assert.equal(
      c.web.requests.some((line) => line.includes('127.0.0.3') && line.includes('/one')),
      false,
    );
    assert.match((await listFailed(c.sql, 5))[0]?.error ?? '', /robots/);
  });

  test('a site in trouble is asked for one page of all that wait, and then left alone', async () => {
    await using c = await openCrawl();
    c.web.on('/robots.txt', (_request, response) => response.writeHead(500).end());
    await c.add('page', '/one', '/two', '/three');
    const began = c.clock.now();
    await c.crawl(() => c.clock.now() - began > 300_000);
    assert.deepEqual(c.web.requests, ['GET 127.0.0.1 /robots.txt']);
  });

  test('what failed for good says why, until it is asked for again', async () => {
    await using c = await openCrawl();
    await c.add('page', '/missing');
    await c.crawl(async () => (await countQueue(c.sql)).failed === 1);
    assert.match((await listFailed(c.sql, 5))[0]?.error ?? '', /404/);
    assert.deepEqual(await countQueue(c.sql), { waiting: 0, failed: 1 });
  });

  test('is looked at again with conditions after a week; a page that is gone leaves it', async () => {
    await using c = await openCrawl();
    let isGone = false;
    const conditions: unknown[] = [];
    c.web.on('/one', (request, response) => {
      conditions.push(request.headers['if-none-match']);
      if (isGone) response.writeHead(410).end();
      else if (request.headers['if-none-match']) response.writeHead(304).end();
      else html(article('One', [text]), { etag: '"a"' })(request, response);
    });
    await c.add('page', '/one');
    await c.crawl(async () => (await c.indexed()).length === 1 && (await countQueue(c.sql)).waiting === 0);
    await c.add('page', '/one');
    await c.crawl(async () => (await countQueue(c.sql)).waiting === 0);
    assert.deepEqual([conditions, await c.indexed()], [[undefined, '"a"'], ['/one']]);
    isGone = true;
    await c.add('page', '/one');
    await c.crawl(async () => (await countQueue(c.sql)).waiting === 0);
    assert.deepEqual(await c.indexed(), []);
  });

  test('of two crawlers at once each takes another site, and what one of them held when it died is taken again', async () => {
    await using c = await openCrawl();
    await using worker = await openTest({ database: c.t.database, settings: c.web.settings });
    const urls = ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((host) => c.web.url('/one', host));
    // A clock that stands: the crawlers of the gateways do nothing by themselves.
    const still = testClock(Date.now() + 86_400_000);
    await enqueue(c.sql, still, { urls, kind: 'page', depth: 0 });
    const [one, two] = await Promise.all([takeDue(c.sql, still, 2), takeDue(worker.gateway.kernel.sql, still, 2)]);
    const taken = [...one, ...two].map(({ host }) => host);
    assert.equal(new Set(taken).size, taken.length);
    assert.deepEqual(await takeDue(c.sql, still, 9).then((rows) => rows.length), 3 - taken.length);
    still.leap(61_000);
    assert.equal((await takeDue(c.sql, still, 9)).length, 3);
  });
});
