import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { testClock } from '../../kernel/base/clock.ts';
import { withinOneMinute } from '../../kernel/testing.ts';
import { createAccount, http, openTest } from '../../testing.ts';
import { article, html, openWeb } from './tools.testing.ts';

const about = article(
  'The Widget Works',
  [
    'The Widget Works was founded in 1911 by Ana Pop in Cluj, and made 40,000 widgets in its first year of work.',
    'It does not sell widgets on Sundays, and has never raised the price of 12.50 lei in all of these years.',
  ],
  '<meta name="author" content="Ana Pop"><meta name="description" content="Who makes widgets."><link rel="canonical" href="/about">',
);

describe('fetch of a page', () => {
  test('follows a page that sends its reader on at once, and says when a page is drawn by its script', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const ask = async (path: string) =>
      (await http(t.gateway.url, '/v1/tools/fetch', { key: t.account.key, body: { url: web.url(path) } })).body;
    web.on('/old', `<meta http-equiv="refresh" content="0; url=/new">moved`);
    web.on('/new', article('New', ['The Widget Works was founded in 1911 by Ana Pop in Cluj.']));
    web.on('/loop', `<meta http-equiv="refresh" content="0; url=/pool">loop`);
    web.on('/pool', `<meta http-equiv="refresh" content="0; url=/loop">pool`);
    web.on('/private', `<meta http-equiv="refresh" content="0; url=http://10.0.0.1/">away`);
    web.on('/app', '<title>App</title><div id="root"></div><script src="/app.js"></script>');
    const moved = await ask('/old');
    assert.deepEqual([new URL(moved.final_url).pathname, moved.content.includes('1911')], ['/new', true]);
    assert.equal((await ask('/old')).cached, true);
    assert.match((await ask('/loop')).content, /loop|pool/);
    assert.ok((await ask('/private')).error);
    const app = await ask('/app');
    assert.deepEqual([app.content, app.empty_reason], ['', 'needs_javascript']);
    assert.equal((await ask('/app')).empty_reason, 'needs_javascript');
    assert.equal('empty_reason' in moved, false);
  });

  test('answers every field of the document, and the same again from the copy within 15 minutes', async () => {
    await using web = await openWeb();
    const clock = testClock();
    await using t = await openTest({ settings: web.settings, clock });
    web.on('/about', html(about));
    const fetch = async (body: object) =>
      http(t.gateway.url, '/v1/tools/fetch', { method: 'POST', key: t.account.key, body });
    const { status, body } = await fetch({ url: web.url('/about?utm_source=x#top') });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      { ...body, content: undefined, chars: undefined, took_ms: undefined },
      {
        url: web.url('/about?utm_source=x#top'),
        final_url: web.url('/about'),
        title: 'The Widget Works',
        byline: 'Ana Pop',
        description: 'Who makes widgets.',
        canonical: web.url('/about'),
        lang: 'en',
        content_type: 'text/html',
        content: undefined,
        chars: undefined,
        truncated: false,
        took_ms: undefined,
        cached: false,
      },
    );
    assert.match(body.content, /founded in 1911 by Ana Pop/);
    assert.doesNotMatch(body.content, /Imprint|Home About/);
    assert.equal(body.chars, body.content.length);
    const again = await fetch({ url: web.url('/about'), format: 'html', max_chars: 200 });
    assert.deepEqual([again.body.cached, again.body.truncated, again.body.chars <= 200], [true, true, true]);
    assert.equal(web.requests.length, 1);
    clock.leap(16 * 60_000);
    assert.equal((await fetch({ url: web.url('/about') })).body.cached, false);
    assert.equal(web.requests.length, 2);
  });

  test('is not cached for others, nor when the server says no-store', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const other = await createAccount(t.gateway);
    web.on('/about', html(about));
    web.on('/secret', html(about, { 'cache-control': 'no-store' }));
    for (const key of [t.account.key, other.key])
      for (const path of ['/about', '/secret', '/secret'])
        assert.equal(
          (await http(t.gateway.url, '/v1/tools/fetch', { method: 'POST', key, body: { url: web.url(path) } })).body
            .cached,
          false,
        );
  });

  test('asks with what it knows of an old copy, and takes 304 for an answer', async () => {
    await using web = await openWeb();
    const clock = testClock();
    await using t = await openTest({ settings: web.settings, clock });
    web.on('/about', (request, response) => {
      if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end();
      else html(about, { etag: '"1"' })(request, response);
    });
    const fetch = async () =>
      (
        await http(t.gateway.url, '/v1/tools/fetch', {
          method: 'POST',
          key: t.account.key,
          body: { url: web.url('/about') },
        })
      ).body;
    const first = await fetch();
    clock.leap(16 * 60_000);
    const second = await fetch();
    assert.deepEqual([second.cached, second.content], [false, first.content]);
    const third = await fetch();
    assert.deepEqual([third.cached, web.requests.length], [true, 2]);
  });

  test('takes no 304 for an answer about another page than the one that is kept', async () => {
    await using web = await openWeb();
    const clock = testClock();
    await using t = await openTest({ settings: web.settings, clock });
    const since = 'Mon, 05 Jan 2026 10:00:00 GMT';
    for (const name of ['one', 'two'])
      web.on(`/${name}`, (request, response) => {
        if (request.headers['if-modified-since'] === since) response.writeHead(304).end();
        else
          html(article(`Version ${name}`, ['The Widget Works was founded in 1911.']), { 'last-modified': since })(
            request,
            response,
          );
      });
    const leadTo = (name: string) =>
      web.on('/latest', (_request, response) => response.writeHead(302, { location: `/${name}` }).end());
    const fetch = async () =>
      (
        await http(t.gateway.url, '/v1/tools/fetch', {
          method: 'POST',
          key: t.account.key,
          body: { url: web.url('/latest') },
        })
      ).body;
    leadTo('one');
    assert.equal((await fetch()).title, 'Version one');
    clock.leap(16 * 60_000);
    leadTo('two');
    const { title, final_url: url } = await fetch();
    assert.deepEqual([title, url], ['Version two', web.url('/two')]);
    clock.leap(16 * 60_000);
    web.on('/latest', (_request, response) => response.writeHead(304).end());
    assert.equal((await fetch()).error.code, 'upstream_error');
  });

  test('says what failed: refused 400, a server at fault 502, nothing that can be read 502', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    web.on('/broken', (_request, response) => response.writeHead(500).end());
    web.on('/picture', (_request, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from('89504e470d0a1a0a0000', 'hex')),
    );
    web.on('/loop', (_request, response) => response.writeHead(302, { location: '/loop' }).end());
    web.on('/away', (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/' }).end());
    const cases: [string, number, string][] = [
      ['http://10.0.0.1/', 400, 'bad_request'],
      ['file:///etc/passwd', 400, 'bad_request'],
      [web.url('/away'), 400, 'bad_request'],
      [web.url('/missing'), 502, 'upstream_error'],
      [web.url('/broken'), 502, 'upstream_error'],
      [web.url('/picture'), 502, 'upstream_error'],
      [web.url('/loop'), 502, 'upstream_error'],
    ];
    const messages = new Set<string>();
    for (const [url, status, code] of cases) {
      const answer = await http(t.gateway.url, '/v1/tools/fetch', {
        method: 'POST',
        key: t.account.key,
        body: { url },
      });
      assert.deepEqual([url, answer.status, answer.body.error.code], [url, status, code]);
      if (status === 400) messages.add(answer.body.error.message);
    }
    assert.equal(messages.size, 1, 'one message for every refusal');
    for (const url of ['example.com', 'example.com:8080/page', 'not an address']) {
      const { status, body } = await http(t.gateway.url, '/v1/tools/fetch', { key: t.account.key, body: { url } });
      assert.deepEqual([status, body.error.code], [400, 'bad_request']);
      assert.match(body.error.message, /^url: must be a whole address, such as https:/);
    }
  });

  test('a page past 3 MB is cut, compressed or not, and says so', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: web.settings });
    const long = `<p>What is near.</p>${`<p hidden>${'word '.repeat(20_000)}</p>`.repeat(32)}<p>What is far.</p>`;
    web.on('/long', html(long));
    web.on('/zipped', (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(gzipSync(long)),
    );
    for (const path of ['/long', '/zipped']) {
      const { body } = await http(t.gateway.url, '/v1/tools/fetch', {
        method: 'POST',
        key: t.account.key,
        body: { url: web.url(path), format: 'text' },
      });
      assert.deepEqual([body.error, body.truncated], [undefined, true]);
      assert.match(body.content, /near/);
      assert.doesNotMatch(body.content, /far/);
    }
  });

  test('each key has its own minute, for search and fetch apart', async () => {
    await using web = await openWeb();
    await using t = await openTest({ settings: { ...web.settings, SVC_RATE_FETCH: '2', SVC_RATE_SEARCH: '1' } });
    web.on('/about', html(about));
    await withinOneMinute(async () => {
      const other = await createAccount(t.gateway);
      const ask = async (key: string, path: string, body: object) =>
        (await http(t.gateway.url, path, { method: 'POST', key, body })).status;
      const page = { url: web.url('/about') };
      const { key } = await createAccount(t.gateway);
      assert.deepEqual(
        [
          await ask(key, '/v1/tools/fetch', page),
          await ask(key, '/v1/tools/fetch', page),
          await ask(key, '/v1/tools/fetch', page),
          await ask(other.key, '/v1/tools/fetch', page),
        ],
        [200, 200, 429, 200],
      );
    });
  });
});
