import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPage, renderPage } from './index.ts';

const read = async (html: string) => {
  const page = await readPage(Buffer.from(html), { url: 'http://a.test/x', contentType: 'text/html' });
  return { ...page, content: renderPage(page, 'text', 100_000).content };
};
const sentence = 'The Widget Works was founded in 1911 by Ana Pop in Cluj, and made 40,000 widgets in its first year.';
const text = `${sentence}\n\n${sentence.replace('1911', '1912')}\n\n${sentence.replace('1911', '1913')}`;
const shell = (more: string): string =>
  `<!doctype html><title>t</title>${more}<div id="root">Loading</div><script src="/app.js"></script>`;

describe('a page that its script draws', () => {
  test('is read from its JSON-LD, else from its data, plain or as HTML', async () => {
    const linked = { '@type': 'NewsArticle', headline: 'h', articleBody: text };
    const html = text
      .split('\n\n')
      .map((part) => `<p>${part}</p>`)
      .join('');
    for (const more of [
      `<script type="application/ld+json">${JSON.stringify(linked)}</script>`,
      `<script id="__NEXT_DATA__" type="application/json">${JSON.stringify({ props: { post: { id: 'x', body: text } } })}</script>`,
      `<script type="application/json">${JSON.stringify({ styles: 'x '.repeat(500), posts: [{ body: html }] })}</script>`,
    ]) {
      const page = await read(shell(more));
      assert.match(page.content, /founded in 1911 .*\n+.*in 1912 .*\n+.*in 1913 /, more.slice(0, 60));
      assert.doesNotMatch(page.content, /x x x|<p>/);
      assert.equal(page.needsScript, false);
    }
  });

  test('is read from whatever short text it holds, where it shows none', async () => {
    const short = 'The Widget Works was founded in 1911 by Ana Pop in Cluj.';
    const data = (of: object): string =>
      `<script id="__NEXT_DATA__" type="application/json">${JSON.stringify(of)}</script>`;
    const linked = (of: object): string => `<script type="application/ld+json">${JSON.stringify(of)}</script>`;
    for (const [more, needsScript] of [
      [linked({ '@type': 'NewsArticle', headline: 'h', articleBody: short }), false],
      [data({ props: { post: { id: 'x', body: sentence } } }), false],
      [linked({ '@type': 'Product', name: 'Widget', description: short }), true],
      [data({ props: { post: { id: 'x', lead: short } } }), true],
    ] as const) {
      const page = await read(shell(more));
      assert.match(page.content, /founded in 1911 by Ana Pop/, more);
      assert.equal(page.needsScript, needsScript, more);
    }
  });

  test('says that it needs the script when its text is nowhere', async () => {
    assert.equal((await read(shell(''))).needsScript, true);
    assert.equal((await read(shell('<script type="application/json">{"a":["b"]}</script>'))).needsScript, true);
    assert.equal((await read('<title>t</title><p>Short, and without any script.</p>')).needsScript, false);
    assert.equal((await read(shell(`<p>${sentence}</p>`))).needsScript, false);
  });

  test('with text of its own stays as it is', async () => {
    const own = `<main><p>${sentence.repeat(4)}</p></main>`;
    const linked = JSON.stringify({ '@type': 'Article', articleBody: 'Other words. '.repeat(400) });
    assert.doesNotMatch(
      (await read(shell(`<script type="application/ld+json">${linked}</script>${own}`))).content,
      /Other/,
    );
  });

  test('of deep, long and broken data is read within bounds', async () => {
    for (const data of [
      '['.repeat(500_000),
      `{"a":${'['.repeat(3_000)}1${']'.repeat(3_000)}}`,
      `[${'"a b",'.repeat(300_000)}1]`,
    ])
      assert.equal((await read(shell(`<script type="application/json">${data}</script>`))).needsScript, true);
  });
});

describe('what a page sends its reader to', () => {
  test('is where its refresh of no time says, on the web, and not to itself', async () => {
    const table: [string, string][] = [
      ['0; url=/next', 'http://a.test/next'],
      ['0;URL="https://b.test/"', 'https://b.test/'],
      ['5; url=/next', ''],
      ['0', ''],
      ['0; url=javascript:alert(1)', ''],
      ['0; url=/x#part', ''],
    ];
    for (const [content, expected] of table)
      assert.equal((await read(`<meta http-equiv="Refresh" content='${content}'><p>x`)).refresh, expected, content);
  });
});

describe('what nobody sees', () => {
  test('is no content: by its own style, by the page’s sheet, struck out', async () => {
    const hidden = [
      '<p style="position:absolute; left:-9999px">HIDE</p>',
      '<p style="font-size: 0">HIDE</p>',
      '<p style="text-indent:-9999px;overflow:hidden">HIDE</p>',
      '<p style="height:1px;width:1px;overflow:hidden">HIDE</p>',
      '<p style="color:#fff;background:white">HIDE</p>',
      '<p style="opacity:0">HIDE</p>',
      '<p style="clip-path: inset(100%)">HIDE</p>',
      '<p class="a gone">HIDE</p>',
      '<p id="lost">HIDE</p>',
      '<p>seen <del>HIDE</del><s>HIDE</s></p>',
    ].join('');
    const seen = [
      '<p style="opacity:0;transform:translateY(20px)">moves in</p>',
      '<p style="color:#fff;background:#000">white on black</p>',
      '<p style="left:-5px">near</p>',
      '<p class="printed">printed</p>',
      '<p class="b">seen b</p>',
      '<p class="gone wide">wide</p>',
      `<div style="opacity:0">fades in ${sentence.repeat(3)}</div>`,
    ].join('');
    const sheet =
      '<style>.x,.gone{display:none} #lost{font-size:0} @media print{.printed{display:none}} @media (min-width: 700px) {.wide{display:block}} .b p{display:none} main{display:none}</style>';
    const { visible, content } = await read(`${sheet}<main>${hidden}${seen}<p>${sentence.repeat(6)}</p></main>`);
    for (const all of [visible, content]) {
      assert.doesNotMatch(all, /HIDE/);
      for (const part of ['moves in', 'white on black', 'near', 'printed', 'seen b', 'wide', 'fades in', 'seen'])
        assert.ok(all.includes(part), part);
    }
  });
});
