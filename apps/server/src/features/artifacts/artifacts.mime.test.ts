import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Sniffer } from './artifacts.mime.ts';

/** The type of some bytes that come in chunks of 1,000. */
async function mimeOf(content: string | Buffer): Promise<string> {
  const bytes = Buffer.from(content);
  const sniffer = new Sniffer();
  for (let at = 0; at < bytes.length; at += 1000) sniffer.see(bytes.subarray(at, at + 1000));
  return await sniffer.mime(() => Promise.resolve(Readable.from([bytes])));
}

test('a picture of lines is one with a declaration, comments and a document type before it', async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>';
  const doctype = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">';
  const declared = '<?xml version="1.0" encoding="utf-8" standalone="no"?>';
  for (const text of [
    svg,
    `${declared}\n${svg}`,
    `${declared}\n${doctype}\n${svg}`,
    `<!-- ${'x'.repeat(9_000)} -->\n${svg}`,
  ]) {
    assert.equal(await mimeOf(text), 'image/svg+xml', text.slice(0, 80));
  }
  assert.equal(await mimeOf(`${declared}\n<feed/>`), 'application/xml');
  assert.equal(await mimeOf(`<!-- page -->\n<!doctype html>\n<p>`), 'text/html');
});

test('JSON is JSON however long it is, and what only begins so is text', async () => {
  const rows = JSON.stringify(Array.from({ length: 2_000 }, (_, id) => ({ id, name: 'ț' })));
  assert.equal(await mimeOf(rows), 'application/json');
  assert.equal(await mimeOf(`${rows.slice(0, -1)},]`), 'text/plain');
  assert.equal(await mimeOf(`[${'1,'.repeat(5_000_000)}1]`), 'application/json');
  assert.equal(await mimeOf('{"a": 1} and more'), 'text/plain');
});

test('text with other bytes far behind its beginning is no text', async () => {
  assert.equal(await mimeOf('a'.repeat(100_000)), 'text/plain');
  assert.equal(
    await mimeOf(Buffer.concat([Buffer.from('a'.repeat(100_000)), Buffer.from([0xff, 0xfe])])),
    'application/octet-stream',
  );
  assert.equal(await mimeOf(`${'a'.repeat(100_000)}\0`), 'application/octet-stream');
  // Cut in the middle of a character.
  assert.equal(await mimeOf(Buffer.from('ș'.repeat(2_000)).subarray(0, -1)), 'application/octet-stream');
});

/** A ZIP archive whose entries are stored. */
function zipOf(entries: Record<string, string>): Buffer {
  const locals: Buffer[] = [];
  for (const [name, text] of Object.entries(entries)) {
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt32LE(text.length, 18);
    head.writeUInt32LE(text.length, 22);
    head.writeUInt16LE(name.length, 26);
    locals.push(head, Buffer.from(name), Buffer.from(text));
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  return Buffer.concat([...locals, end]);
}

test('an office document is one wherever its list of contents stands', async () => {
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
  const contents = `<?xml version="1.0"?><Types><Override PartName="/xl/workbook.xml" ContentType="${type}.main+xml"/></Types>`;
  const sheet = '<row/>'.repeat(20_000);
  assert.equal(await mimeOf(zipOf({ 'xl/worksheets/sheet1.xml': sheet, '[Content_Types].xml': contents })), type);
  assert.equal(await mimeOf(zipOf({ 'a.txt': 'x'.repeat(100_000), 'b.txt': 'y' })), 'application/zip');
});
