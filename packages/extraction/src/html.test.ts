import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { content, read, readBody } from './testing.ts';

const sentence = 'The river rose by two metres in the night, and the council asked people to leave their houses. ';

describe('visible text', () => {
  test('has everything that is seen, navigation too, a block a line', async () => {
    const page = await readBody(
      '<nav><a href=/>Home</a></nav><p>One<br>two</p><ul><li>a<li>b</ul><footer>End</footer>',
    );
    assert.equal(page.visible, 'Home\nOne\ntwo\na\nb\nEnd');
  });

  test('has nothing that is hidden', async () => {
    const page = await readBody(
      `<p>seen</p><template>t1<p>t2</p></template><script>s1</script><style>s2</style><noscript><p>n1</p></noscript>
      <p hidden>h1</p><div aria-hidden="true">h2<p>h3</p></div><p style="color:red; DISPLAY : none">h4</p><!-- c1 -->
      <iframe>f1</iframe><textarea>f2</textarea><dialog>f3</dialog><img alt="f4" src=x><svg><title>f5</title></svg>
      <p style="visibility:hidden">h5</p>`,
    );
    assert.equal(page.visible, 'seen');
    assert.equal(content(page), 'seen\n\n[Image: f4]');
  });

  test('has the text of a shadow root that is declared', async () => {
    const page = await readBody(
      `<main><x-card><template shadowrootmode="open"><style>s</style><p>In the <b>shadow</b></p></template><p>light</p></x-card></main>`,
    );
    assert.equal(page.visible, 'In the shadow\nlight');
    assert.equal(content(page), 'In the shadow\n\nlight');
  });

  test('has lines of code that style alone makes lines', async () => {
    const line = (text: string): string => `<span class="line">${text}</span>`;
    for (const between of ['', '\n'])
      for (const code of [
        ['a();', '', 'b();'].map(line).join(between),
        ['a();\n', '\n', 'b();\n'].map((text) => line(`<span class="cl">${text}</span>`)).join(''),
      ]) {
        const page = await readBody(`<main><pre><code class="language-js">${code}</code></pre></main>`);
        assert.equal(content(page), 'a();\n\nb();', code);
        assert.equal(page.visible, 'a();\nb();');
      }
  });

  test('joins inline elements without a space and parts cells', async () => {
    const page = await readBody(
      '<p>a<b>b</b><i>c</i> d</p><table><tr><td>x</td><td>y</td></tr><tr><td>z</td></tr></table>',
    );
    assert.equal(page.visible, 'abc d\nx\ty\nz');
  });

  test('has one space for white space, and no soft hyphens', async () => {
    assert.equal((await readBody('<p>  a \n\t b&nbsp;&nbsp;c d&shy;e </p>')).visible, 'a b c de');
  });

  test('is there for pages without any structure', async () => {
    assert.equal((await read('just words &amp; <b>more')).visible, 'just words & more');
    assert.equal((await read('<p>one<p>two')).visible, 'one\ntwo');
    assert.equal((await read('<TITLE>t</TITLE><P>ONE</P><A HREF="/x">two</A>')).visible, 'ONE\ntwo');
  });
});

describe('main content', () => {
  const around = (body: string): string => `
    <header class="site-header"><a href=/>The Daily</a><nav><ul><li><a href=/a>World</a><li><a href=/b>Sport</a></ul></nav></header>
    <div class="cookie-banner">We use cookies</div>${body}
    <div class="sidebar"><h3>Most read</h3><ul><li><a href=/1>First other story</a><li><a href=/2>Second other story</a></ul></div>
    <footer>Copyright The Daily</footer>`;

  const article = `<h1>The river rises</h1>${`<p>${sentence.repeat(3)}</p>`.repeat(5)}
    <div class="share-bar"><a href=/f>Facebook</a></div>
    <pre><code class="language-sh">make flood</code></pre><table><tr><th>Year<th>Level</tr><tr><td>2021<td>4.10</tr></table>
    <ul><li>Take water</ul><h2>Related articles</h2><div class="related"><a href=/3>Third other story</a></div>`;

  for (const [how, body] of [
    ['in <main>', `<main>${article}</main>`],
    ['in <article>', `<div><article>${article}</article></div>`],
    ['in a <div>', `<div id="c1"><div class="x1">${article}</div></div>`],
  ] as const) {
    test(`${how} is there with its code, tables and lists, and without what surrounds it`, async () => {
      const text = content(await readBody(around(body)));
      for (const part of ['The river rises', 'two metres', 'make flood', 'Year\tLevel', '4.10', '- Take water']) {
        assert.ok(text.includes(part), `${part} in ${text}`);
      }
      assert.doesNotMatch(text, /World|cookies|Most read|other story|Copyright|Facebook|Related/);
    });
  }

  test('is a whole thread, not its first post', async () => {
    const post = (at: number): string =>
      `<div class="post"><div class="user">user${at}</div><div class="body"><p>Answer ${at}: ${sentence.repeat(at === 2 ? 6 : 1)}</p></div></div>`;
    const text = content(await readBody(around(`<div id="thread">${[1, 2, 3, 4, 5, 6].map(post).join('')}</div>`)));
    for (const at of [1, 2, 3, 4, 5, 6]) assert.ok(text.includes(`Answer ${at}:`), `${at}`);
  });

  test('is there when its container is called a sidebar or a comment', async () => {
    const text = content(await readBody(`<div class="with-sidebar comment"><p>${sentence.repeat(8)}</p></div>`));
    assert.ok(text.includes('two metres'));
  });

  test('keeps the names of buttons in its sentences, lists and tables', async () => {
    const page = await readBody(
      `<p>${sentence}Click <b>Save</b>, then <a href="/p">Print</a> or <code>edit</code>.</p><ul><li>Close<li>Share</ul>
      <table><tr><td>Menu</td><td><span>Report</span></td></tr></table><div><a href="/s">Share</a></div>`,
    );
    assert.ok(content(page).endsWith('Click Save, then Print or edit.\n\n- Close\n- Share\n\nMenu\tReport'));
  });

  test('has no links from headings to themselves, and no arrows back from notes', async () => {
    const page = await readBody(
      `<h2><a href="#a">Notes</a><a class="x" href="#a">¶</a></h2><p>${sentence}<a href="#f">↩</a> <a href="#f">above</a></p>`,
    );
    assert.ok(content(page, 'markdown').startsWith('## Notes\n'));
    assert.ok(content(page, 'markdown').endsWith('houses. [above](https://example.com/dir/page#f)'));
  });

  test('of a page that is one unclosed <nav>, or one form, is what stands in it', async () => {
    const page = await readBody(`<nav><h1>Title</h1><p>${sentence.repeat(8)}</p>`);
    assert.ok(content(page).includes('two metres'));
    assert.equal(content(await readBody('<form><p>Please log in here.</p><input></form>')), 'Please log in here.');
  });

  test('of a short page is what it has', async () => {
    assert.equal(content(await readBody('<p>Just this.</p>')), 'Just this.');
  });

  test('of a page that lists links is these links', async () => {
    const links = Array.from({ length: 30 }, (_, at) => `<li><a href="/s/${at}">Story number ${at}</a></li>`).join('');
    const page = await readBody(`<main><h1>All stories</h1><ul>${links}</ul></main>`);
    assert.ok(content(page).includes('Story number 29'));
  });

  test('has no line numbers and buttons in its code', async () => {
    const page = await readBody(
      `<p>${sentence}</p><table class="highlighttable"><tr><td class="linenos"><pre>1\n2</pre></td><td><pre>a = 1\nb = 2<button>Copy</button></pre></td></tr></table>`,
    );
    assert.deepEqual(page.blocks.at(-1), { type: 'code', language: '', text: 'a = 1\nb = 2' });
  });
});

describe('metadata', () => {
  test('comes from JSON-LD, then what is made for sharing, then the page', async () => {
    const ld = JSON.stringify({
      '@graph': [
        { '@type': 'WebPage', name: 'no' },
        {
          '@type': ['NewsArticle'],
          headline: 'The head &amp; line&#8217;s',
          author: [{ name: 'Ana Pop' }, { name: 'Ion Rus' }],
          datePublished: '2024-05-01T12:00:00+03:00',
        },
      ],
    });
    const page = await read(
      `<html lang="RO_ro"><head><title>Page | Site</title><meta property="og:title" content="Shared">
      <script type="application/ld+json">{broken</script><script type="application/ld+json">${ld}</script>
      <meta name=Description content="What  it\nsays"><link rel="canonical" href="/a?b=1"><meta name="robots" content="NOINDEX"></head><p>x`,
    );
    const { title, byline, description, canonical, lang, publishedAt, noIndex } = page;
    assert.deepEqual([title, byline, description], ['The head & line’s', 'Ana Pop, Ion Rus', 'What it says']);
    assert.deepEqual([canonical, lang], ['https://example.com/a?b=1', 'ro-RO']);
    assert.deepEqual([publishedAt, noIndex], ['2024-05-01T09:00:00Z', true]);
  });

  test('of a page that says little is its title, author link and time', async () => {
    const page = await read(
      '<title>A story - The Daily</title><h1>A story</h1><p>By <a rel=author href=/a>Ana Pop</a> <time datetime="2024-05-01">May</time>',
    );
    assert.deepEqual([page.title, page.byline, page.publishedAt], ['A story', 'Ana Pop', '2024-05-01']);
    assert.deepEqual([page.lang, page.canonical, page.noIndex], ['', '', false]);
  });

  for (const [said, date] of [
    ['2024-05-01T12:00:00Z', '2024-05-01T12:00:00Z'],
    ['2024-05-01 12:00', '2024-05-01'],
    ['May 3, 2024', '2024-05-03'],
    ['3 May 2024', '2024-05-03'],
    ['Wed, 01 May 2024 12:00:00 GMT', '2024-05-01T12:00:00Z'],
    ['2024-13-45', ''],
    ['yesterday', ''],
  ] as const) {
    test(`a date of ${said} is ${date || 'unknown'}`, async () => {
      const page = await read(`<meta property="article:published_time" content="${said}"><p>x`);
      assert.equal(page.publishedAt, date);
    });
  }

  for (const [said, noIndex] of [
    ['noindex, follow', true],
    ['none', true],
    ['index,NoIndex', true],
    ['max-image-preview:none', false],
    ['index, follow', false],
  ] as const) {
    test(`robots "${said}" asks ${noIndex ? 'not ' : ''}to be indexed`, async () => {
      assert.equal((await read(`<meta name="ROBOTS" content="${said}"><p>x`)).noIndex, noIndex);
    });
  }

  test('is one bounded line each', async () => {
    const long = 'word \u{1f600}\n'.repeat(2000);
    const page = await read(
      `<html lang="${'x'.repeat(99)}"><title>${long}</title><meta name=author content="${long}"><meta name=description content="${long}"><link rel=canonical href="https://e.com/${'a'.repeat(3000)}"><p>x`,
    );
    assert.ok(page.title.length <= 500 && page.byline.length <= 200 && page.description.length <= 1000);
    assert.deepEqual([page.canonical, page.lang], ['', '']);
    for (const line of [page.title, page.byline, page.description]) {
      assert.ok(line !== '' && !line.includes('\n') && line.isWellFormed());
    }
  });

  test('a canonical address is http or https', async () => {
    for (const href of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'https://', '']) {
      assert.equal((await read(`<link rel=canonical href="${href}"><p>x`)).canonical, '', href);
    }
  });
});

describe('feeds', () => {
  const rss = `<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title><link>https://e.com/</link>
    <language>ro-ro</language><description>All of it</description>
    <item><title><![CDATA[Râul <b>crește</b>]]></title><link>https://e.com/1</link><pubDate>Wed, 01 May 2024 12:00:00 GMT</pubDate>
    <description>&lt;p&gt;Two metres&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;</description></item>
    <item><title>Second</title><link>javascript:alert(1)</link></item></channel></rss>`;

  test('RSS becomes its title and a list of entries', async () => {
    const page = await read(rss, 'application/rss+xml');
    assert.deepEqual([page.title, page.description, page.lang], ['News & more', 'All of it', 'ro-RO']);
    assert.deepEqual([page.canonical, page.publishedAt], ['https://e.com/', '2024-05-01T12:00:00Z']);
    assert.equal(
      content(page, 'markdown'),
      '# News & more\n\nAll of it\n\n## [Râul crește](https://e.com/1)\n\n*2024-05-01T12:00:00Z*\n\nTwo metres\n\n## Second',
    );
    assert.match(page.visible, /^News & more\nAll of it\nRâul crește\n/);
  });

  test('Atom, RDF and JSON Feed too', async () => {
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title><author><name>Ana</name></author><entry><title>One</title>
      <link rel="self" href="/no"/><link href="/one"/><updated>2024-05-01T00:00:00Z</updated><summary type="html">&lt;i&gt;Short&lt;/i&gt;</summary></entry></feed>`;
    const page = await read(atom, 'application/atom+xml');
    assert.equal(page.byline, 'Ana');
    assert.equal(content(page), 'Blog\n\nOne\n\n2024-05-01T00:00:00Z\n\nShort');
    assert.ok(content(page, 'markdown').includes('[One](https://example.com/one)'));
    const rdf =
      '<rdf:RDF xmlns:rdf="x"><channel><title>R</title></channel><item><title>One</title><dc:date>2024-05-01</dc:date></item></rdf:RDF>';
    assert.equal(content(await read(rdf, 'application/xml')), 'R\n\nOne\n\n2024-05-01');
    const json = JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'J',
      items: [{ title: 'One', url: '/1', content_html: '<p>Two <b>metres</b></p>', date_published: '2024-05-01' }],
    });
    const feed = await read(json, 'application/feed+json');
    assert.equal(content(feed), 'J\n\nOne\n\n2024-05-01\n\nTwo metres');
  });

  test('a broken one is read as far as it goes', async () => {
    const page = await read('<rss><channel><title>A</title><item><title>One</title><item><title>Two', 'text/xml');
    assert.match(content(page), /^A\n\nOne/);
    assert.equal((await read('{"version":"https://jsonfeed.org/version/1', '')).kind, 'text');
  });
});
