import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { content, read, readBody } from './testing.ts';
import { tidy } from './tidy.ts';

const size = 1024 * 1024;
const fill = (part: string): string => part.repeat(Math.floor(size / part.length));

/** Each took minutes, gigabytes or the stack before a bound was there. A hang ends at the test's own limit. */
describe('a hostile page is read to its end', () => {
  const cases: Readonly<Record<string, [html: string, seen: string]>> = {
    '100,000 nested <div>': [`${'<div>'.repeat(100_000)}deep${'</div>'.repeat(100_000)}after`, 'deep'],
    '100,000 nested tables': [`${'<table><tr><td>'.repeat(100_000)}deep`, 'deep'],
    '100,000 nested lists': [`${'<ul><li>x'.repeat(100_000)}deep`, 'deep'],
    '100,000 nested headings and quotes': ['<h2><blockquote>x'.repeat(100_000), 'x'],
    '400,000 attributes': [`<div ${Array.from({ length: 400_000 }, (_, at) => `a${at}`).join(' ')}>deep</div>`, 'deep'],
    '1 MB of <a>': [`${fill('<a>')}deep`.slice(-size), 'deep'],
    '1 MB of <b>': [`start${fill('<b>x')}`, 'start'],
    '1 MB of <h2>': [`start${fill('<h2>x')}`, 'start'],
    '1 MB of <': [`start ${fill('<')}`, 'start'],
    '1 MB of &': [`start ${fill('&')}`, 'start'],
    '1 MB of entities': [`start ${fill('&amp;')}`, 'start'],
    '1 MB of open comments': [`start ${fill('<!--')}`, 'start'],
    '1 MB of open scripts': [`start ${fill('<script>')}`, 'start'],
    '1 MB of open quotes': [`start ${fill('<a href="')}`, 'start'],
    '1 MB of stray end tags': [`${'<div>'.repeat(300)}start${fill('</x>')}`, 'start'],
    '1 MB of one word': [fill('x'), 'xxx'],
    '1 MB in one line': [fill('word '), 'word word'],
    '1 MB of table rows': [`<table>${fill('<tr><td>x</td><td>y</td></tr>')}`, 'x\ty'],
    'a heading of 100,000 parts': [`<h1>${'<b>x</b>y'.repeat(100_000)}</h1>`, 'xyxy'],
    'nested JSON-LD': [`<script type="application/ld+json">${'['.repeat(200_000)}</script>start`, 'start'],
    '1 MB of articles': [fill('<article>x</article>'), 'x'],
    'a heading of 1 MB of #': [`<h2>x${fill('#')}y</h2>`, 'x###'],
    'a heading of 1 MB of white space in code': [`<h2><pre>x${fill(' ')}y</pre></h2>`, 'x'],
    '1 MB of white space in JSON-LD': [
      `<script type="application/ld+json">{${' '.repeat(400_000)}x</script>start`,
      'start',
    ],
    'comments before the first element': [`${'<!---->'.repeat(1000)}start`, 'start'],
    'an image source that regular expressions choke on': [
      `start<p>${'words, more words, and words. '.repeat(30)}<img srcset="${'a.jpg'.repeat(6000)} x"></p>`,
      'start',
    ],
  };
  for (const [name, [html, seen]] of Object.entries(cases)) {
    test(name, async () => {
      const page = await read(html);
      assert.ok(page.visible.includes(seen));
      assert.ok(page.visible.length <= 1_000_000);
      for (const format of ['text', 'markdown', 'html'] as const) assert.ok(content(page, format).length <= 1_000_000);
    });
  }

  test('one whose tags, classes and colours have the names of what every object has', async () => {
    for (const name of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
      const style = `<style>.${name}{color:${name};background:${name}}</style>`;
      const page = await readBody(`${style}<p>a</p><${name} class=${name}>10<${name}>6</${name}>`);
      assert.match(page.visible, /a\s+106/, name);
      const table = await readBody(`<table><tr><th>A<th>B<tr><td><${name}>x</${name}><td>y</table>`);
      assert.ok(content(table).includes('A\tB\nx\ty'), name);
    }
  });

  test('feeds and documents without a header too', async () => {
    const page = await read(`<rss><channel><title>A</title>${fill('<item><title ')}`, 'text/xml');
    assert.equal(page.title, 'A');
    for (const part of ['<!---->', '<?x?>', '<!doctype x>', '[', '{"a":', '<rss><item>', '<?xml ?><a>']) {
      await read(fill(part), '');
      await read(fill(part), 'application/xml');
    }
  });

  test('text behind an unclosed comment or script is not seen, as in browsers', async () => {
    assert.equal((await readBody('a<!-- b <p>c')).visible, 'a');
    assert.equal((await readBody('a<script>b</scripty><p>c')).visible, 'a');
    assert.equal((await readBody('a<!-->b<!--->c<!-- -- -->d<?x y>e</ z>f<![CDATA[g]]>h')).visible, 'abcdefh');
  });
});

const tags =
  'div p span a b h1 h2 table tr td th ul li dl dt pre code blockquote main article aside nav form br svg template title';
const names = [
  ...tags.split(' '),
  'script',
  'style',
  'textarea',
  'select',
  'option',
  'meta',
  'html',
  'head',
  'body',
  'x-y',
];
const attributes = [
  '',
  ' class="post"',
  ' id=comments',
  ' href="/x"',
  ' hidden',
  ' role=main',
  ' start=4',
  ' "',
  ' =x',
  " a='",
];
const pieces = [
  'words of a text ',
  'x',
  '\n',
  '&amp;',
  '&#0;',
  '&nbsp;',
  '<',
  '>',
  '<!--',
  '-->',
  ']]>',
  'ș',
  '😀',
  '|',
  '`',
];

describe('any soup of tags', () => {
  const part = fc.oneof(
    fc.tuple(fc.constantFrom(...names), fc.constantFrom(...attributes)).map(([name, own]) => `<${name}${own}>`),
    fc.constantFrom(...names).map((name) => `</${name}>`),
    fc.constantFrom(...pieces),
  );

  test('is read, and its content has no word that is not visible', async () => {
    const property = fc.asyncProperty(fc.array(part, { maxLength: 80 }), async (parts) => {
      const page = await read(`Words. ${parts.join('')}`);
      const text = content(page);
      assert.ok(text.isWellFormed() && page.visible.isWellFormed());
      // Where a word ends is another matter: tags that no browser expects join and part some.
      const seen = page.visible.replace(/\P{L}+/gu, '');
      for (const word of text.match(/\p{L}+/gu) ?? []) assert.ok(seen.includes(word), word);
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('tidied HTML', () => {
  test('keeps an ordinary page as it is, but its frame, comments and scripts', () => {
    const html = '<p class="a" title=\'>\'>x &amp; y<br/>z</p><ul><li>1<li>2</ul>';
    const page = `<!doctype html><html lang=en><head><title>t</title></head><!-- c --><body>${html}<script>s</script></body></html>`;
    const { html: tidied, elements, bounded, rootTag } = tidy(page);
    assert.equal(tidied.trim(), `<title>t</title>${html}`);
    assert.deepEqual([elements, bounded, rootTag], [6, false, '<html lang=en>']);
  });

  test('leaves out tags beyond the depth, and their text stays', () => {
    const { html, bounded } = tidy(`${'<div>'.repeat(400)}a<b>b</b>${'</div>'.repeat(400)}<p>c`);
    assert.equal(html.match(/<div>/g)?.length, 256);
    assert.equal(html.match(/<\/div>/g)?.length, 256);
    assert.match(html, /ab/);
    assert.match(html, /<p>c$/);
    assert.equal(bounded, true);
  });
});
