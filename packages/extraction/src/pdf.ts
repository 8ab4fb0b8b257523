import { getDocumentProxy } from 'unpdf';
import { ExtractionError, mostUnits } from './blocks.ts';
import { languageTag } from './metadata.values.ts';
import { clean } from './text.ts';

const mostPages = 300;

/** Text and metadata of a PDF. */
interface PdfText {
  readonly title: string;
  readonly author: string;
  readonly subject: string;
  readonly lang: string;
  readonly date: string;
  /** Text of each page, a line of it a line. */
  readonly pages: readonly string[];
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

/** Reads at most 300 pages. Throws `ExtractionError` `unreadable` for one that is broken or needs a password. */
export async function readPdf(bytes: Uint8Array): Promise<PdfText> {
  let pdf: Pdf | undefined;
  try {
    // A copy: the reader takes the buffer for itself. It neither fetches, evaluates, draws nor prints.
    pdf = await getDocumentProxy(new Uint8Array(bytes), {
      verbosity: 0,
      useSystemFonts: false,
      disableFontFace: true,
      disableAutoFetch: true,
      disableStream: true,
      disableRange: true,
      enableXfa: false,
      maxImageSize: 0,
    });
    const { info } = await pdf.getMetadata().catch(() => ({ info: {} }));
    const said = info as Readonly<Record<string, unknown>>;
    const word = (name: string): string => (typeof said[name] === 'string' ? clean(said[name]) : '');
    return {
      title: word('Title'),
      author: word('Author'),
      subject: word('Subject'),
      lang: languageTag(word('Language')),
      date: pdfDate(word('CreationDate')) || pdfDate(word('ModDate')),
      pages: await pagesOf(pdf),
    };
  } catch {
    throw new ExtractionError('unreadable', 'The PDF is broken or needs a password.');
  } finally {
    await pdf?.loadingTask.destroy().catch(() => undefined);
  }
}

async function pagesOf(pdf: Pdf): Promise<string[]> {
  const pages: string[] = [];
  let units = 0;
  for (let number = 1; number <= Math.min(pdf.numPages, mostPages) && units < mostUnits; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = linesOf(items as readonly Item[]);
    page.cleanup();
    units += text.length;
    pages.push(text);
  }
  return pages;
}

/** A run of text as the reader gives it; a marked-content item has no `str`. */
interface Item {
  readonly str?: string;
  readonly hasEOL?: boolean;
  readonly height?: number;
  /** Places five and six are x and y. */
  readonly transform?: readonly number[];
}

/** Lines of a page; a gap of more than a line and a half begins a paragraph. */
function linesOf(items: readonly Item[]): string {
  const lines: string[] = [];
  let line = '';
  let lastY: number | undefined;
  for (const { str, hasEOL, height = 0, transform } of items) {
    if (str === undefined) continue;
    const y = transform?.[5] ?? 0;
    if (line === '' && str.trim() !== '') {
      if (lastY !== undefined && Math.abs(lastY - y) > Math.max(height, 6) * 1.9) lines.push('');
      lastY = y;
    }
    line += str;
    if (hasEOL !== true) continue;
    lines.push(line.trimEnd());
    line = '';
  }
  lines.push(line.trimEnd());
  return clean(lines.join('\n'))
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** `D:YYYYMMDDHHmmSS+HH'mm'`, of which most may be missing. */
function pdfDate(text: string): string {
  const found = /^(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(Z|[+-]\d{2}'?\d{2})?/.exec(text);
  if (found === null) return '';
  const [, year, month = '01', day = '01', hour, minute = '00', second = '00', zone] = found;
  const plain = `${year}-${month}-${day}`;
  if (!Number.isFinite(Date.parse(plain))) return '';
  if (hour === undefined || zone === undefined) return plain;
  const offset = zone === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(-2)}`;
  const time = Date.parse(`${plain}T${hour}:${minute}:${second}${offset}`);
  return Number.isFinite(time) ? new Date(time).toISOString().replace('.000Z', 'Z') : plain;
}
