import {
  AlignmentType,
  BorderStyle,
  Document,
  Footer,
  HeadingLevel,
  type IRunOptions,
  Packer,
  PageNumber,
  Paragraph,
  TabStopType,
  TextRun,
} from 'docx';
import { type Content, contentOf, type Line, type Section, shortTitle } from './content.ts';
import type { TranscriptDocument } from './document.ts';
import { directionOf, tagOf } from './labels.ts';
import { isRightToLeft } from './pdf.lines.ts';

const pale = '667080';
/** Twentieths of a point that times take left of what was said. */
const timeWidth = 1240;
/** Width of the body of an A4 page with margins of 60 points, in twentieths of a point. */
const bodyWidth = 9500;

/** A transcript as a Word document (document 1, Transcripts: export). */
export async function toDocx(document: TranscriptDocument): Promise<Uint8Array> {
  const content = contentOf(document);
  const { labels, title } = content;
  const tag = tagOf(document.language) ?? labels.language;
  const language = directionOf(tag) === 'rtl' ? { value: labels.locale, bidirectional: tag } : { value: tag };
  const file = new Document({
    title,
    creator: 'svc',
    lastModifiedBy: 'svc',
    description: '',
    styles: {
      default: {
        document: {
          run: { font: 'Calibri', size: 21, color: '1B1F24', language },
          paragraph: { spacing: { line: 276 } },
        },
        title: { run: { size: 40, bold: true }, paragraph: { spacing: { after: 160 } } },
        heading1: {
          run: { size: 26, bold: true, color: '1F4A7A' },
          paragraph: { spacing: { before: 320, after: 100 }, keepNext: true },
        },
      },
    },
    sections: [
      {
        properties: { page: { size: { width: 11_900, height: 16_840 }, margin: { left: 1200, right: 1200 } } },
        footers: { default: foot(content) },
        children: [...head(content), ...content.sections.flatMap(sectionParagraphs), ...transcript(content)],
      },
    ],
  });
  return new Uint8Array(await Packer.toBuffer(file));
}

/** A run of text; letters from right to left say so. */
const run = (text: string, options: IRunOptions = {}): TextRun =>
  new TextRun({ ...options, text, rightToLeft: isRightToLeft(text) });

const heading = (text: string): Paragraph => new Paragraph({ heading: HeadingLevel.HEADING_1, children: [run(text)] });

function head({ labels, title, facts, consent }: Content): Paragraph[] {
  const named = (label: string, value: string, after: number): Paragraph =>
    new Paragraph({ spacing: { after }, children: [run(`${label}: `, { color: pale }), run(value)] });
  const border = { style: BorderStyle.SINGLE, size: 5, space: 8, color: 'D5DAE1' };
  return [
    new Paragraph({ heading: HeadingLevel.TITLE, bidirectional: isRightToLeft(title), children: [run(title)] }),
    ...facts.map(({ label, value }) => named(label, value, 20)),
    ...consent.map((text, at) =>
      at === 0 ? named(labels.consent, text, 20) : new Paragraph({ spacing: { after: 20 }, children: [run(text)] }),
    ),
    new Paragraph({ border: { bottom: border }, spacing: { after: 0 }, children: [] }),
  ];
}

function sectionParagraphs({ heading: text, paragraphs, items }: Section): Paragraph[] {
  return [
    heading(text),
    ...paragraphs.map(
      (line) => new Paragraph({ spacing: { after: 100 }, bidirectional: isRightToLeft(line), children: [run(line)] }),
    ),
    ...items.map(
      ({ text: item, note }) =>
        new Paragraph({
          bullet: { level: 0 },
          spacing: { after: 60 },
          bidirectional: isRightToLeft(item),
          children: [run(item), ...(note === '' ? [] : [run(` ${note}`, { color: pale })])],
        }),
    ),
  ];
}

function transcript({ labels, lines }: Content): Paragraph[] {
  const spoken = ({ at, speaker, text }: Line): Paragraph =>
    new Paragraph({
      spacing: { after: 60 },
      indent: { left: timeWidth, hanging: timeWidth },
      tabStops: [{ type: TabStopType.LEFT, position: timeWidth }],
      bidirectional: isRightToLeft(text),
      children: [run(`[${at}]\t`, { color: pale, size: 18 }), run(`${speaker}: `, { bold: true }), run(text)],
    });
  const said = lines.length === 0 ? [new Paragraph({ children: [run(labels.nothingSaid)] })] : lines.map(spoken);
  return [heading(labels.transcript), ...said];
}

/** Title and page number, as on the PDF. */
function foot({ labels, title }: Content): Footer {
  const small = { color: pale, size: 16 };
  const [before = '', between = ''] = labels.page(0, 0).split('0');
  return new Footer({
    children: [
      new Paragraph({
        alignment: AlignmentType.LEFT,
        tabStops: [{ type: TabStopType.RIGHT, position: bodyWidth }],
        children: [
          run(`${shortTitle(title)}\t`, small),
          new TextRun({
            ...small,
            children: [before, PageNumber.CURRENT, between, PageNumber.TOTAL_PAGES],
          }),
        ],
      }),
    ],
  });
}
