import { readdirSync, readFileSync } from 'node:fs';
import { Readability } from '@mozilla/readability';
import { readPage, renderPage } from '@svc/extraction';
import { overlap, wordsOf } from '@svc/matching';
import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import { atLeast, type Findings, type Row } from './report.ts';

/** A reader of pages: HTML in, its main content as HTML with its title out. */
type Reader = (html: string, url: string) => Promise<{ title: string; content: string }>;

const readers: Readonly<Record<string, Reader>> = {
  ours: async (html, url) => {
    const page = await readPage(new TextEncoder().encode(html), { url, contentType: 'text/html; charset=utf-8' });
    return { title: page.title, content: renderPage(page, 'html', 1_000_000).content };
  },
  readability: async (html) => {
    const article = new Readability(parseHTML(html).document).parse();
    return { title: article?.title ?? '', content: article?.content ?? '' };
  },
  defuddle: async (html, url) => {
    const { title, content } = await Defuddle(parseHTML(html).document, url);
    return { title, content };
  },
};

/** How much of what a reader gives is content, and how much of the content it gives: shares of words, 0..1. */
interface Score {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/**
 * Scores readers word by word on the pages of `bench/pages`: `NAME.html`, and in `NAME.txt` the words that belong to its
 * content, marked by hand. A title that a reader gives apart from its content counts as content.
 */
export async function scoreExtraction(): Promise<Findings> {
  const folder = new URL('../pages/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.html'));
  const scores = new Map(Object.keys(readers).map((reader) => [reader, [] as Score[]]));
  const rows: Row[] = [];
  for (const name of names) {
    const html = readFileSync(new URL(name, folder), 'utf8');
    const wanted = readFileSync(new URL(name.replace('.html', '.txt'), folder), 'utf8');
    const row: Record<string, string | number> = { page: name.replace('.html', '') };
    for (const [reader, read] of Object.entries(readers)) {
      const score = scoreOf(await textOf(read, html), wanted);
      scores.get(reader)?.push(score);
      Object.assign(row, columns(reader, score));
    }
    rows.push(row);
  }
  const means = [...scores].map(([reader, each]) => [reader, mean(each)] as const);
  rows.push({ page: 'mean', ...Object.assign({}, ...means.map(([reader, score]) => columns(reader, score))) });
  const f1 = (reader: string): number => means.find(([name]) => name === reader)?.[1].f1 ?? 0;
  const others = Math.max(f1('readability'), f1('defuddle'));
  return { rows, targets: [atLeast('F1 of ours, beside the better peer', f1('ours'), Number(others.toFixed(3)))] };
}

async function textOf(read: Reader, html: string): Promise<string> {
  const { title, content } = await read(html, 'https://example.org/page');
  // A space at each tag: the text of adjacent cells and paragraphs is not one word.
  const { document } = parseHTML(`<html><head></head><body>${content.replaceAll('<', ' <')}</body></html>`);
  const text = document.body.textContent;
  return text.replace(/\s+/g, ' ').includes(title.trim()) ? text : `${title} ${text}`;
}

function scoreOf(text: string, wanted: string): Score {
  const given = wordsOf(text);
  const asked = wordsOf(wanted);
  const shared = overlap(given, asked);
  const precision = given.total === 0 ? 0 : shared / given.total;
  const recall = asked.total === 0 ? 0 : shared / asked.total;
  return { precision, recall, f1: shared === 0 ? 0 : (2 * precision * recall) / (precision + recall) };
}

const columns = (reader: string, { precision, recall, f1 }: Score): Row => ({
  [`${reader} P`]: precision.toFixed(3),
  [`${reader} R`]: recall.toFixed(3),
  [`${reader} F1`]: f1.toFixed(3),
});

const mean = (scores: readonly Score[]): Score => {
  const of = (pick: (score: Score) => number): number =>
    scores.reduce((sum, one) => sum + pick(one), 0) / scores.length;
  return { precision: of(({ precision }) => precision), recall: of(({ recall }) => recall), f1: of(({ f1 }) => f1) };
};
