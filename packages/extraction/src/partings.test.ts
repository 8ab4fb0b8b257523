import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPage, renderPage } from './index.ts';

const read = (body: string) =>
  readPage(Buffer.from(`<title>t</title><main>${body}</main>`), { url: 'http://a.test/', contentType: 'text/html' });

describe('figures that a tag raises, lowers or strikes', () => {
  test('are no part of the number before them, in what is shown and in what snippets are held against', async () => {
    const table: [string, string][] = [
      ['10<sup>6</sup> atoms', '10^6 atoms'],
      ['since 1990<sup>3</sup>.', 'since 1990^3.'],
      ['x 5<sub>2</sub> y', 'x 5_2 y'],
      ['10<sup>-3</sup> m s<sup>−1</sup>', '10^-3 m s^−1'],
      ['10<sup>6</sup>-7, x-<sup>2</sup>', '10^6-7, x-2'],
      ['<del>100</del><ins>80</ins> lei', '80 lei'],
      ['the 3<sup>rd</sup> H<sub>2</sub>O <b>1</b>2', 'the 3rd H2O 12'],
      ['m<sup>2</sup> and 7', 'm2 and 7'],
    ];
    for (const [html, text] of table) {
      const page = await read(`<p>${html}</p>`);
      assert.equal(page.visible, text);
      assert.equal(renderPage(page, 'text', 1_000).content, text);
    }
  });
});

describe('html that is cut', () => {
  test('holds the beginning of a block that is longer than the room', async () => {
    const page = await read(`<p>${'word & more '.repeat(300)}</p><p>second</p>`);
    const { content, chars, truncated } = renderPage(page, 'html', 100);
    assert.match(content, /^<pre>\nword &amp; more .*<\/pre>$/s);
    assert.ok(chars > 80 && chars <= 100 && truncated);
  });
});
