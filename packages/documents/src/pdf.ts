import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { create } from 'fontkit';
import Pdf from 'pdfkit';
import { type Content, contentOf, type Line, type Section, shortTitle } from './content.ts';
import type { TranscriptDocument } from './document.ts';
import { tagOf } from './labels.ts';
import { Glyphs } from './pdf.glyphs.ts';
import { isRightToLeft } from './pdf.lines.ts';
import { page, Sheet, type Style } from './pdf.sheet.ts';

const dejaVu = (name: string): string => createRequire(import.meta.url).resolve(`dejavu-fonts-ttf/ttf/${name}.ttf`);

const ink = '#1b1f24';
const pale = '#667080';
const hair = '#d5dae1';
const styles = {
  title: { font: 'bold', size: 20, color: ink },
  heading: { font: 'bold', size: 12.5, color: '#1f4a7a' },
  body: { font: 'plain', size: 9.5, color: ink },
  strong: { font: 'bold', size: 9.5, color: ink },
  note: { font: 'plain', size: 9.5, color: pale },
  time: { font: 'plain', size: 8, color: pale },
  foot: { font: 'plain', size: 7.5, color: pale },
} as const satisfies Record<string, Style>;
/** Points that times take left of what was said. */
const timeWidth = 62;

/**
 * A transcript as PDF (document 1, Transcripts: export): A4, page numbers, bookmarks, tagged for screen readers. DejaVu
 * has Latin, Greek, Cyrillic, Arabic and Hebrew letters; what it lacks (Chinese, Japanese, Korean, most emojis) becomes a box, and
 * the first page says so. Equal documents give equal bytes.
 */
export async function toPdf(document: TranscriptDocument): Promise<Uint8Array> {
  const content = contentOf(document);
  const createdAt = Number.isNaN(document.startedAt.getTime()) ? new Date(0) : document.startedAt;
  const doc = new Pdf({
    size: [page.width, page.height],
    margins: { top: 0, bottom: 0, left: 0, right: 0 },
    bufferPages: true,
    tagged: true,
    pdfVersion: '1.7',
    displayTitle: true,
    lang: tagOf(document.language) ?? content.labels.language,
    info: { Title: content.title, Creator: 'svc', Producer: 'svc', CreationDate: createdAt, ModDate: createdAt },
  });
  const chunks: Uint8Array[] = [];
  doc.on('data', (chunk: Uint8Array) => chunks.push(chunk));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  doc.on('end', resolve).on('error', reject);
  doc.registerFont('plain', dejaVu('DejaVuSans')).registerFont('bold', dejaVu('DejaVuSans-Bold'));
  draw(doc, content);
  doc.end();
  await promise;
  return new Uint8Array(Buffer.concat(chunks));
}

function draw(doc: PDFKit.PDFDocument, content: Content): void {
  const font = create(readFileSync(dejaVu('DejaVuSans')));
  if (font.type === undefined || !('hasGlyphForCodePoint' in font))
    throw new Error('the font file holds no single font');
  const glyphs = new Glyphs(font);
  const sheet = new Sheet(doc, glyphs);
  const root = doc.struct('Document');
  doc.addStructure(root);
  drawHead(sheet, root, content, lacks(glyphs, content));
  for (const section of content.sections) drawSection(sheet, root, section);
  drawTranscript(sheet, root, content);
  root.end();
  drawFeet(sheet, content);
}

/** Whether the font lacks a character of the document. */
function lacks(glyphs: Glyphs, { title, facts, consent, sections, lines }: Content): boolean {
  const texts = [
    title,
    ...facts.map(({ value }) => value),
    ...consent,
    ...sections.flatMap(({ paragraphs, items }) => [...paragraphs, ...items.map(({ text, note }) => text + note)]),
    ...lines.map(({ speaker, text }) => speaker + text),
  ];
  for (const text of texts) glyphs.drawable(text);
  return glyphs.isMissing;
}

/** A part of the document's structure, as readers for the blind walk it. */
type Part = PDFKit.PDFStructureElement;

function drawHead(sheet: Sheet, root: Part, { labels, title, facts, consent }: Content, isLacking: boolean): void {
  const { doc } = sheet;
  root.add(doc.struct('H1', {}, () => sheet.paragraph({ pieces: [{ text: title, style: styles.title }], after: 8 })));
  for (const { label, value } of facts) {
    const pieces = [
      { text: `${label}:`, style: styles.note },
      { text: value, style: styles.body },
    ];
    root.add(doc.struct('P', {}, () => sheet.paragraph({ pieces, after: 1 })));
  }
  const asides = consent.map((text, at) => [
    ...(at === 0 ? [{ text: `${labels.consent}:`, style: styles.note }] : []),
    { text, style: styles.body },
  ]);
  if (isLacking) asides.push([{ text: labels.missingGlyphs, style: styles.note }]);
  for (const pieces of asides) {
    sheet.space(4);
    root.add(doc.struct('P', {}, () => sheet.paragraph({ pieces, after: 1 })));
  }
  sheet.space(10);
  sheet.rule(hair);
  sheet.space(4);
}

function drawHeading(sheet: Sheet, root: Part, text: string): void {
  sheet.space(14);
  sheet.keep(60);
  root.add(sheet.doc.struct('H2', {}, () => sheet.paragraph({ pieces: [{ text, style: styles.heading }], after: 4 })));
  sheet.doc.outline.addItem(text);
}

function drawSection(sheet: Sheet, root: Part, { heading, paragraphs, items }: Section): void {
  const { doc } = sheet;
  drawHeading(sheet, root, heading);
  for (const text of paragraphs) {
    root.add(doc.struct('P', {}, () => sheet.paragraph({ pieces: [{ text, style: styles.body }], after: 5 })));
  }
  if (items.length === 0) return;
  const list = doc.struct('L');
  root.add(list);
  for (const { text, note } of items) {
    const pieces = [
      { text, style: styles.body },
      { text: note, style: styles.note },
    ].filter((piece) => piece.text !== '');
    const lead = { text: '•', style: styles.strong, at: 4 };
    const item = doc.struct('LBody', {}, () => sheet.paragraph({ pieces, indent: 16, lead, after: 3 }));
    list.add(doc.struct('LI', {}, [item]));
  }
  list.end();
}

function drawTranscript(sheet: Sheet, root: Part, { labels, lines }: Content): void {
  const { doc } = sheet;
  drawHeading(sheet, root, labels.transcript);
  const drawLine = ({ at, speaker, text }: Line) =>
    sheet.paragraph({
      pieces: [
        { text: `${speaker}:`, style: styles.strong },
        { text, style: styles.body },
      ],
      indent: timeWidth,
      lead: { text: `[${at}]`, style: styles.time },
      turned: isRightToLeft(text),
      after: 3,
    });
  for (const line of lines) root.add(doc.struct('P', {}, () => drawLine(line)));
  if (lines.length > 0) return;
  const pieces = [{ text: labels.nothingSaid, style: styles.note }];
  root.add(doc.struct('P', {}, () => sheet.paragraph({ pieces, after: 0 })));
}

/** Title and page number on every page, once their number is known. */
function drawFeet(sheet: Sheet, { labels, title }: Content): void {
  const { doc } = sheet;
  const short = shortTitle(title);
  const { start, count } = doc.bufferedPageRange();
  for (let at = 0; at < count; at++) {
    doc.switchToPage(start + at);
    doc.markContent('Artifact', { type: 'Pagination' });
    const y = page.height - page.bottom + 28;
    sheet.mark(short, styles.foot, y, 'left');
    sheet.mark(labels.page(at + 1, count), styles.foot, y, 'right');
    doc.endMarkedContent();
  }
}
