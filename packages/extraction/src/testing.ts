import { type Page, type PageFormat, readPage, renderPage } from './index.ts';

/** Where test documents come from. */
export const url = 'https://example.com/dir/page';

/** Reads a text as a document. */
export const read = (text: string, contentType = 'text/html; charset=utf-8'): Promise<Page> =>
  readPage(new TextEncoder().encode(text), { url, contentType });

/** Reads a page whose body this is. */
export const readBody = (body: string): Promise<Page> =>
  read(`<!doctype html><html><head><title>A title</title></head><body>${body}</body></html>`);

/** The whole content in a format. */
export const content = (page: Page, format: PageFormat = 'text'): string => renderPage(page, format, 1_000_000).content;

/** Bytes of a text in a charset of one byte a character. */
export function bytesIn(label: string, text: string): Uint8Array {
  const characters = new TextDecoder(label).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
  return Uint8Array.from(text, (character) => characters.indexOf(character));
}

/** A PDF with a line of text on each page. */
export function pdfOf(lines: readonly string[], info = ''): Uint8Array {
  const objects: string[] = [];
  const pages = lines.map((_, at) => `${4 + at * 2} 0 R`).join(' ');
  objects.push('<< /Type /Catalog /Pages 2 0 R >>', `<< /Type /Pages /Kids [${pages}] /Count ${lines.length} >>`);
  objects.push('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  for (const [at, line] of lines.entries()) {
    const stream = `BT /F1 12 Tf 72 700 Td (${line}) Tj ET`;
    const resources = '/Resources << /Font << /F1 3 0 R >> >>';
    objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] ${resources} /Contents ${5 + at * 2} 0 R >>`);
    objects.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
  }
  objects.push(`<< ${info} >>`);
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${offset}`.padStart(10, '0');
  });
  const table = offsets.map((offset) => `${offset} 00000 n \n`).join('');
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info ${objects.length} 0 R >>`;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${trailer}\nstartxref\n${text.length}\n%%EOF`;
  return new TextEncoder().encode(text);
}
