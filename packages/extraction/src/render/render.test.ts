import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Block, type Page, type PageFormat, type Run, renderPage } from '../index.ts';
import { pageAddress } from '../addresses.ts';
import { content, read, readBody } from '../testing.ts';

const pageOf = (blocks: readonly Block[]): Page => ({
  kind: 'html',
  contentType: 'text/html',
  title: '',
  byline: '',
  description: '',
  canonical: '',
  lang: '',
  publishedAt: '',
  blocks,
  visible: '',
  noIndex: false,
  outline: [],
  needsScript: false,
  refresh: '',
});
const formats = ['text', 'markdown', 'html'] as const;

describe('the three formats', () => {
  const body = `<main><h2>Head</h2><p>A <b>bold</b> <a href="/x_(y)?a=1&amp;b=2">link <i>to</i></a> and <code>a\`b</code>.<br>Line</p>
    <pre><code class="language-js">let a = \`\`\`x\`\`\`;
  b();</code></pre>
    <table><thead><tr><th>A<th>B|C</thead><tr><td>1<td><a href="mailto:a@e.com">two</a></table>
    <ol start=3><li>one<ul><li>sub</ul><li><p>two</p><p>more</p></ol><blockquote><p>Said</p></blockquote><hr></main>`;
  const expected: Record<PageFormat, string> = {
    text: `Head

A bold link to and a\`b.
Line

let a = \`\`\`x\`\`\`;
  b();

A\tB|C
1\ttwo

3. one
   - sub
4. two

   more

> Said

---`,
    markdown: `## Head

A **bold** [link *to*](https://example.com/x_%28y%29?a=1&b=2) and \`\`a\`b\`\`.${'  '}
Line

\`\`\`\`js
let a = \`\`\`x\`\`\`;
  b();
\`\`\`\`

| A | B\\|C |
| --- | --- |
| 1 | [two](mailto:a@e.com) |

3. one
   - sub
4. two

   more

> Said

---`,
    html: `<h2>Head</h2>
<p>A <strong>bold</strong> <a href="https://example.com/x_(y)?a=1&amp;b=2" rel="nofollow noopener noreferrer">link </a><a href="https://example.com/x_(y)?a=1&amp;b=2" rel="nofollow noopener noreferrer"><em>to</em></a> and <code>a\`b</code>.<br>Line</p>
<pre><code class="language-js">let a = \`\`\`x\`\`\`;
  b();</code></pre>
<table><thead><tr><th>A</th><th>B|C</th></tr></thead><tbody><tr><td>1</td><td><a href="mailto:a@e.com" rel="nofollow noopener noreferrer">two</a></td></tr></tbody></table>
<ol start="3"><li>one<ul><li>sub</li></ul></li><li>two<p>more</p></li></ol>
<blockquote><p>Said</p></blockquote>
<hr>`,
  };
  for (const format of formats) {
    test(`${format} has headings, links, code, tables, lists and quotes`, async () => {
      assert.equal(content(await readBody(body), format), expected[format]);
    });
  }

  test('links of other schemes lose their address, relative ones follow <base>', async () => {
    const page = await read(
      `<base href="https://b.example/d/"><p>${[
        'javascript:alert(1)',
        ' JavaScript:x',
        'data:text/html,x',
        'vbscript:x',
        'file:///x',
        'blob:x',
      ]
        .map((href) => `<a href="${href}">bad</a> `)
        .join('')}<a href="good?x">good</a></p>`,
    );
    assert.equal(content(page, 'markdown'), 'bad bad bad bad bad bad [good](https://b.example/d/good?x)');
    assert.equal(content(page, 'html').match(/href/g)?.length, 1);
  });

  test('text of a page becomes no markup', async () => {
    for (const [text, markdown] of [
      ['[a](javascript:x) ![i](y)', '\\[a\\](javascript:x) !\\[i\\](y)'],
      ['&lt;script&gt;x&lt;/script&gt;', '\\<script>x\\</script>'],
      ['# no heading', '\\# no heading'],
      ['1. no list', '1\\. no list'],
      ['- no list', '\\- no list'],
      ['&gt; no quote', '\\> no quote'],
      ['--- ', '\\---'],
      ['*no* _no_ in_word `no` ~~no~~', '\\*no\\* \\_no\\_ in_word \\`no\\` \\~\\~no\\~\\~'],
      ['&amp;lt; stays', '\\&lt; stays'],
      ['| a | b |', '\\| a | b |'],
      ['a \\* b', 'a \\\\\\* b'],
    ] as const) {
      assert.equal(content(await readBody(`<p>${text}</p>`), 'markdown'), markdown, text);
    }
  });

  test('a page cannot put tags or attributes of its own into HTML', async () => {
    const page = await readBody(
      `<p onclick="x()">&lt;script&gt;alert(1)&lt;/script&gt; <a href='https://e.com/"onmouseover="x'>l</a></p><pre><code class='language-"><script>'>&lt;b&gt;</code></pre><img alt='"&gt;&lt;img src=x onerror=x>' src=x>`,
    );
    const tags = [...content(page, 'html').matchAll(/<([^\s>]+)/g)].map((match) => match[1]);
    assert.deepEqual(new Set(tags), new Set(['p', '/p', 'a', '/a', 'pre', '/pre', 'code', '/code', 'em', '/em']));
    assert.doesNotMatch(content(page, 'html'), /<[^>]*\son(?:click|mouseover|error)=/);
  });
});

describe('a cut', () => {
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  const run: fc.Arbitrary<Run> = fc.record(
    { text, code: fc.boolean(), strong: fc.boolean(), href: fc.constant('https://e.com/?a=1&b="') },
    { requiredKeys: ['text'] },
  );
  const runs = fc.array(run, { maxLength: 4 });
  const { block } = fc.letrec<{ block: Block }>((tie) => ({
    block: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({ type: fc.constant('paragraph' as const), runs }),
      fc.record({ type: fc.constant('heading' as const), level: fc.integer({ min: 1, max: 6 }), runs }),
      fc.record({ type: fc.constant('plain' as const), text }),
      fc.record({ type: fc.constant('code' as const), language: fc.constant('js'), text }),
      fc.record({ type: fc.constant('table' as const), header: fc.boolean(), rows: fc.array(fc.array(runs)) }),
      fc.record({ type: fc.constant('quote' as const), blocks: fc.array(tie('block')) }),
      fc.record({
        type: fc.constant('list' as const),
        ordered: fc.boolean(),
        start: fc.nat(9),
        items: fc.array(fc.array(tie('block'))),
      }),
    ),
  }));

  test('is never longer than asked, says what it left out, and has no half character', () => {
    fc.assert(
      fc.property(
        fc.array(block, { maxLength: 6 }),
        fc.constantFrom(...formats),
        fc.nat(300),
        (blocks, format, most) => {
          const page = pageOf(blocks);
          const whole = renderPage(page, format, 1_000_000);
          const { content, chars, truncated } = renderPage(page, format, most);
          assert.ok(chars === content.length && chars <= most && content.isWellFormed());
          assert.equal(truncated, whole.chars > most);
          if (format === 'html') assertWellFormed(content);
          else assert.ok(whole.content.startsWith(content));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('takes 0, less and nothing at all for 0', () => {
    const page = pageOf([{ type: 'plain', text: 'words' }]);
    for (const most of [0, -1, Number.NaN]) {
      assert.deepEqual(renderPage(page, 'text', most), { content: '', chars: 0, truncated: true });
    }
    assert.deepEqual(renderPage(pageOf([]), 'html', 0), { content: '', chars: 0, truncated: false });
  });

  test('of verbatim text in HTML ends within it, at a whole character', () => {
    const page = pageOf([{ type: 'plain', text: 'a<b😀😀' }]);
    const lengths = [0, 12, 16, 17, 18, 19, 20, 100].map((most) => renderPage(page, 'html', most).content);
    assert.deepEqual(lengths, [
      '',
      '',
      '<pre>\na</pre>',
      '<pre>\na&lt;</pre>',
      '<pre>\na&lt;b</pre>',
      '<pre>\na&lt;b</pre>',
      '<pre>\na&lt;b😀</pre>',
      '<pre>\na&lt;b😀😀</pre>',
    ]);
  });
});

/** Every tag is ours and closed in order, every `&` begins an entity. */
function assertWellFormed(html: string): void {
  const open: string[] = [];
  for (const [tag, slash, name = ''] of html.matchAll(/<(\/?)([a-z]+[1-6]?)[^<>]*>/g)) {
    if (name === 'br' || name === 'hr') continue;
    if (slash === '') open.push(name);
    else assert.equal(open.pop(), name, tag);
  }
  assert.deepEqual(open, []);
  assert.doesNotMatch(
    html.replace(/<(\/?)([a-z]+[1-6]?)(?: [a-z]+="[^"<>]*")*>/g, ''),
    /[<>]|&(?!(?:amp|lt|gt|quot|#39);)/,
  );
}

describe('an address as a key', () => {
  for (const [url, key] of [
    ['https://E.com/a?utm_source=x&b=2&a=1&fbclid=y#z', 'https://e.com/a?b=2&a=1'],
    ['https://e.com/?gclid=1', 'https://e.com/'],
    ['https://e.com/?UTM_Medium=1&q=a+b%20c&q=', 'https://e.com/?q=a+b%20c&q='],
    ['https://e.com/?utm%5fsource=1&%zz=1', 'https://e.com/?%zz=1'],
    ['https://e.com?', 'https://e.com/'],
    ['https://e.com/?page=2&mc_cid=1&mc_eid=2&igshid=3&msclkid=4', 'https://e.com/?page=2'],
    ['no url', 'no url'],
  ] as const) {
    test(`${url} is ${key}`, () => assert.equal(pageAddress(url), key));
  }
});
