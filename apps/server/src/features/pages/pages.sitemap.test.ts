import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readSitemap } from './pages.sitemap.ts';

const from = 'http://a.test/sitemap.xml';
const read = (text: string) => readSitemap(Buffer.from(text), from);

describe('a sitemap', () => {
  test('lists addresses of its own site, each once, in every form that sites use', () => {
    const text = `<?xml version="1.0"?><urlset xmlns="x"><url><loc>
      http://a.test/one?a=1&amp;b=2 </loc></url><url><loc><![CDATA[http://a.test/two]]></loc></url>
      <url><loc>http://a.test/two#x</loc></url><url><loc>http://b.test/far</loc></url><url><loc>javascript:x</loc></url></urlset>`;
    const urls = ['http://a.test/one?a=1&b=2', 'http://a.test/two', 'http://a.test/two#x'];
    assert.deepEqual(read(text), { kind: 'pages', urls, others: new Map([['b.test', 1]]) });
    assert.deepEqual(readSitemap(Buffer.from(text), from, ['b.test'])?.urls, [...urls, 'http://b.test/far']);
    assert.deepEqual(readSitemap(gzipSync(text), from)?.urls, urls);
    assert.deepEqual(read('http://a.test/x\r\n\nhttp://b.test/y\n')?.urls, ['http://a.test/x']);
    assert.equal(read('<html>'), undefined);
    assert.equal(readSitemap(Buffer.from([0x1f, 0x8b, 0]), from), undefined);
  });

  test('of white space, unclosed parts and long addresses is read in one pass', () => {
    for (const text of [
      `<urlset><url><loc>${' '.repeat(2_000_000)}</urlset>`,
      `<urlset>${'<loc>'.repeat(400_000)}</urlset>`,
      `<urlset><loc>${'<![CDATA['.repeat(200_000)}</loc></urlset>`,
      `http://a.test/${' '.repeat(2_000_000)}`,
    ])
      assert.deepEqual(
        read(text)?.urls.filter((url) => url.length > 20),
        [],
      );
  });
});
