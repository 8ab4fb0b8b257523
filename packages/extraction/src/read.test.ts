import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ExtractionError, readPage } from './index.ts';
import { bytesIn, content, pdfOf, read, url } from './testing.ts';

const isUnsupported = (error: unknown): boolean => error instanceof ExtractionError && error.kind === 'unsupported';
const isUnreadable = (error: unknown): boolean => error instanceof ExtractionError && error.kind === 'unreadable';
const html = '<!doctype html><html><body><p>Words of a page.</p></body></html>';

describe('what a document is', () => {
  for (const [header, text, kind, contentType] of [
    ['text/html', html, 'html', 'text/html'],
    ['application/xhtml+xml', `<?xml version="1.0"?>${html}`, 'html', 'application/xhtml+xml'],
    ['application/octet-stream', html, 'html', 'text/html'],
    ['', `  <!-- hi --> ${html}`, 'html', 'text/html'],
    ['application/zip', html, 'html', 'text/html'],
    ['text/plain', html, 'text', 'text/plain'],
    ['text/markdown; charset=utf-8', '# A', 'text', 'text/markdown'],
    ['application/json', '{"a": 1}', 'json', 'application/json'],
    ['application/ld+json', '[1]', 'json', 'application/ld+json'],
    ['', '{"a": 1}', 'json', 'application/json'],
    ['', 'plain words', 'text', 'text/plain'],
    ['text/xml', '<?xml version="1.0"?><urlset><url/></urlset>', 'xml', 'text/xml'],
    ['', '<?xml version="1.0"?><a/>', 'xml', 'application/xml'],
    ['application/xml', '<?xml version="1.0"?><rss version="2.0"/>', 'feed', 'application/rss+xml'],
    ['text/html', '<?xml version="1.0"?><feed xmlns="x"></feed>', 'feed', 'application/atom+xml'],
  ] as const) {
    test(`${header || 'no header'} with ${JSON.stringify(text.slice(0, 30))} is ${kind}, ${contentType}`, async () => {
      const page = await read(text, header);
      assert.deepEqual([page.kind, page.contentType], [kind, contentType]);
    });
  }

  test('a PDF is one whatever its header says', async () => {
    for (const contentType of ['text/html', 'text/plain', 'application/octet-stream', 'image/png']) {
      assert.equal((await readPage(pdfOf(['Words']), { url, contentType })).contentType, 'application/pdf');
    }
  });

  test('images, archives and other bytes are unsupported whatever their header says', async () => {
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13]);
    const zip = new Uint8Array([0x50, 0x4b, 3, 4, 20, 0, 0, 0]);
    for (const bytes of [png, zip, new Uint8Array(5000), new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8])]) {
      for (const contentType of ['text/html', 'text/plain', 'image/png', '']) {
        await assert.rejects(readPage(bytes, { url, contentType }), isUnsupported);
      }
    }
    await assert.rejects(read('words', 'audio/mpeg'), isUnsupported);
    await assert.rejects(read('<svg xmlns="x"><text>words</text></svg>', 'image/svg+xml'), isUnsupported);
  });

  test('an empty document is empty', async () => {
    for (const header of ['', 'text/html', 'text/plain', 'application/json', 'text/xml']) {
      const page = await read('', header);
      assert.deepEqual([page.visible, page.blocks], ['', []], header);
    }
  });

  test('JSON and XML are read as they stand', async () => {
    const json = '{\n  "a": ["*b*", "<p>"]\n}';
    const page = await read(json, 'application/json');
    assert.equal(page.visible, json);
    assert.equal(content(page), json);
    assert.equal(content(page, 'markdown'), json);
    assert.match(content(page, 'html'), /^<pre>\n\{[^]*&lt;p&gt;/);
  });
});

describe('charsets', () => {
  const words = 'Școală, țară, învățământ, pâine';
  const cedilla = words.replaceAll('ș', 'ş').replaceAll('Ș', 'Ş').replaceAll('ț', 'ţ');
  const textOf = async (bytes: Uint8Array, contentType: string): Promise<string> =>
    (await readPage(bytes, { url, contentType })).visible;

  test('Romanian in windows-1250 and iso-8859-2 comes out right, by header, meta and XML declaration', async () => {
    for (const label of ['windows-1250', 'iso-8859-2', 'iso-8859-16']) {
      const said = label === 'iso-8859-16' ? words : cedilla;
      assert.equal(await textOf(bytesIn(label, said), `text/plain; charset="${label}"`), said);
      const meta = `<html><head><meta charset=${label}></head><p>${said}</p>`;
      assert.equal(await textOf(bytesIn(label, meta), 'text/html'), said);
      const equiv = `<meta content="text/html; charset=${label}" http-equiv="Content-Type"><p>${said}</p>`;
      assert.equal(await textOf(bytesIn(label, equiv), 'text/html'), said);
      const xml = `<?xml version="1.0" encoding="${label}"?><a>${said}</a>`;
      assert.equal(await textOf(bytesIn(label, xml), 'application/xml'), xml);
    }
  });

  test('UTF-8 needs no label, and a mark wins over one', async () => {
    const bytes = new TextEncoder().encode(words);
    assert.equal(await textOf(bytes, 'text/plain'), words);
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...bytes]);
    assert.equal(await textOf(marked, 'text/plain; charset=windows-1252'), words);
  });

  test('UTF-16 is read with a mark and without', async () => {
    for (const mark of ['\ufeff', '']) {
      const wide = Buffer.from(`${mark}plain words of a text in two bytes`, 'utf16le');
      assert.equal(await textOf(wide, 'text/plain'), 'plain words of a text in two bytes');
      assert.equal(await textOf(wide.swap16(), 'text/plain'), 'plain words of a text in two bytes');
    }
  });

  test('a page without a label that says it is in a language is read in what that was written in', async () => {
    const page = (lang: string, text: string): string => `<!doctype html><html dir=ltr lang="${lang}"><p>${text}`;
    const romanian = 'Ştiri din Iaşi: faţă în faţă, înălţimi şi pâine';
    assert.equal(await textOf(bytesIn('windows-1250', page('ro', romanian)), 'text/html'), romanian);
    assert.equal(await textOf(bytesIn('windows-1250', page('ro-RO', romanian)), 'text/html'), romanian);
    assert.equal(await textOf(bytesIn('windows-1251', page('ru', 'Привет, мир')), 'text/html'), 'Привет, мир');
    assert.equal(await textOf(bytesIn('windows-1252', page('fr', 'été à Nîmes')), 'text/html'), 'été à Nîmes');
  });

  test('bytes without a label that are no UTF-8 are windows-1252', async () => {
    assert.equal(await textOf(bytesIn('windows-1252', 'café — “naïve”'), 'text/plain'), 'café — “naïve”');
  });

  test('a label that lies is passed over, and an unknown one too', async () => {
    const page = `<meta charset=windows-1250><p>${cedilla}</p>`;
    assert.equal(await textOf(bytesIn('windows-1250', page), 'text/html; charset=utf-8'), cedilla);
    assert.equal(await textOf(bytesIn('windows-1252', '<p>café crème'), 'text/html; charset=utf-8'), 'café crème');
    assert.equal(await textOf(new TextEncoder().encode(words), 'text/plain; charset=klingon'), words);
    assert.equal(await textOf(new TextEncoder().encode(words), 'text/plain; charset=utf-16'), words);
  });

  test('one broken byte does not change the charset of the others', async () => {
    const bytes = new Uint8Array([...new TextEncoder().encode(words), 0xff, 0x20, 0x61]);
    assert.equal(await textOf(bytes, 'text/plain; charset=utf-8'), `${words}\ufffd a`);
  });

  test('no text has NUL, control characters or lone surrogates', async () => {
    const page = await read('<title>a\0b&#0;&#xd800;</title><p>x\0y\u0001&#0;&#1;&#xdfff;z<pre>a\0&#2;</pre>');
    const all = [page.title, page.visible, content(page), content(page, 'html'), content(page, 'markdown')].join('');
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(all, /[\u0000-\u0008\u000e-\u001f]/);
    assert.ok(all.isWellFormed());
    assert.equal((await read('some words\0 of a text', 'text/plain')).visible, 'some words of a text');
  });
});

describe('PDF', () => {
  test('pages become text, and its information metadata', async () => {
    const info = "/Title (A report) /Author (Ana Pop) /Subject (On rivers) /CreationDate (D:20240501120000+03'00')";
    const page = await readPage(pdfOf(['Words of page one', 'Words of page two'], info), { url, contentType: '' });
    assert.equal(page.visible, 'Words of page one\nWords of page two');
    assert.equal(content(page, 'markdown'), 'Words of page one\n\nWords of page two');
    assert.deepEqual(
      [page.title, page.byline, page.description, page.publishedAt],
      ['A report', 'Ana Pop', 'On rivers', '2024-05-01T09:00:00Z'],
    );
  });

  test('one that is broken is unreadable', async () => {
    const whole = pdfOf(['Words']);
    for (const bytes of [new TextEncoder().encode('%PDF-1.7\nnothing'), whole.slice(0, 60)]) {
      await assert.rejects(readPage(bytes, { url, contentType: 'application/pdf' }), isUnreadable);
    }
    await assert.rejects(read('just text', 'application/pdf'), isUnreadable);
  });

  test('one that needs a password is unreadable', async () => {
    const text = new TextDecoder('latin1').decode(pdfOf(['Words']));
    const word = `(${'x'.repeat(32)})`;
    const lock = `/Encrypt << /Filter /Standard /V 1 /R 2 /O ${word} /U ${word} /P -4 >> /ID [(a) (a)] /Root`;
    const bytes = new TextEncoder().encode(text.replace(/\/Root/, () => lock));
    await assert.rejects(readPage(bytes, { url, contentType: '' }), isUnreadable);
  });

  test('reading leaves the bytes as they are, and prints nothing', async (context) => {
    const spies = (['log', 'warn', 'error'] as const).map((name) =>
      context.mock.method(console, name, () => undefined),
    );
    const bytes = pdfOf(['Words']);
    const before = bytes.slice();
    await readPage(bytes, { url, contentType: '' });
    await readPage(bytes.slice(0, 60), { url, contentType: '' }).catch(() => undefined);
    assert.deepEqual(bytes, before);
    assert.deepEqual(
      spies.map((spy) => spy.mock.callCount()),
      [0, 0, 0],
    );
  });
});
