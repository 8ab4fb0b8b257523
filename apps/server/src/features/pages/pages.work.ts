import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Block, type Page, type PageFormat, readPage, renderPage } from '@svc/extraction';
import {
  type Answer,
  bestPassage,
  indexPage,
  type Outline,
  relevanceOf,
  type Relevance,
  type Span,
  verifySnippet,
} from '@svc/verification';

import { type RobotsRules, robotsRules } from './pages.robots.rules.ts';

/** How content is to be written, and how much of it. */
export interface WantedPart {
  readonly format: PageFormat;
  /** UTF-16 units. */
  readonly maxChars: number;
}

/** A question to a page: is one of these snippets on it, and if not, which part of it answers best? */
export interface PageQuestion {
  /** Roots of the query's words. */
  readonly words: readonly string[];
  readonly snippets: readonly string[];
}

/** Content as it was wanted. */
export interface Rendered {
  readonly content: string;
  readonly chars: number;
  readonly truncated: boolean;
}

/** A page's answer to a question. */
export interface Found {
  /** The page's own words; undefined: nothing that answers. */
  readonly snippet: string | undefined;
  /** Where its sentences stand on the page. */
  readonly proof?: TextProof;
  readonly relevance: Relevance;
}

/** A part of a page's visible text: UTF-16 units of the text with this SHA-256. */
export interface TextProof extends Span {
  readonly sha256: string;
}

/** The facts of a page that are kept besides its content. */
export type PageFacts = Pick<
  Page,
  | 'title'
  | 'byline'
  | 'description'
  | 'canonical'
  | 'lang'
  | 'contentType'
  | 'publishedAt'
  | 'noIndex'
  | 'needsScript'
  | 'refresh'
>;

/** A page that was read from bytes. */
export interface ReadBytes {
  readonly facts: PageFacts;
  /** Gzipped JSON. */
  readonly blocks: Uint8Array;
  /** Gzipped text. */
  readonly visible: Uint8Array;
  /** Gzipped JSON: for each line of the text the lines that say what it is. */
  readonly outline: Uint8Array;
  /** The beginning of the text, for the index. */
  readonly indexed: string;
  readonly rendered?: Rendered;
  readonly found?: Found;
}

/** Work on one page. Each kind may take a second of a processor for a page of the largest size. */
export type PageWork =
  | {
      readonly kind: 'read';
      readonly bytes: Uint8Array;
      readonly url: string;
      readonly contentType: string;
      readonly wanted?: WantedPart;
      readonly question?: PageQuestion;
    }
  | { readonly kind: 'render'; readonly blocks: Uint8Array; readonly wanted: WantedPart }
  | {
      readonly kind: 'check';
      readonly visible: Uint8Array;
      readonly outline?: Uint8Array;
      readonly question: PageQuestion;
    }
  | { readonly kind: 'robots'; readonly text: string; readonly agent: string };

/** The result of each kind of work. */
export interface Results {
  readonly read: ReadBytes;
  readonly render: Rendered;
  readonly check: Found;
  readonly robots: RobotsRules;
}

/** Characters of a page that the index holds: the rest of a longer one is not found by its words. */
const mostIndexed = 100_000;
/** Unpacked bytes of what was stored: 1,000,000 characters and their marks. */
const mostUnpacked = 32 * 1024 * 1024;

/** Does the work; runs in a worker, which is ended when it takes too long or too much memory. */
export async function doWork(work: PageWork): Promise<Results[keyof Results]> {
  if (work.kind === 'robots') return robotsRules(work.text, work.agent);
  if (work.kind === 'read') return read(work);
  if (work.kind === 'render')
    return renderPage({ blocks: unpacked(work.blocks) as Block[] }, work.wanted.format, work.wanted.maxChars);
  const outline = work.outline ? (unpacked(work.outline) as Outline) : [];
  return check(gunzipSync(work.visible, { maxOutputLength: mostUnpacked }).toString(), outline, work.question);
}

async function read({ bytes, url, contentType, wanted, question }: PageWork & { kind: 'read' }): Promise<ReadBytes> {
  const page = await readPage(bytes, { url, contentType });
  const { blocks, visible, outline, kind: _, ...facts } = page;
  return {
    facts,
    // Level 1: three times as quick as the usual one, for 15 % more bytes.
    blocks: gzipSync(JSON.stringify(blocks), { level: 1 }),
    visible: gzipSync(visible, { level: 1 }),
    outline: gzipSync(JSON.stringify(outline), { level: 1 }),
    indexed: visible.slice(0, mostIndexed).toWellFormed(),
    ...(wanted && { rendered: renderPage(page, wanted.format, wanted.maxChars) }),
    ...(question && { found: check(visible, outline, question) }),
  };
}

const unpacked = (packed: Uint8Array): unknown =>
  JSON.parse(gunzipSync(packed, { maxOutputLength: mostUnpacked }).toString());

function check(visible: string, outline: Outline, { words, snippets }: PageQuestion): Found {
  const page = indexPage(visible, outline);
  const relevance = relevanceOf(page, words);
  let answer: Answer | undefined;
  for (const snippet of snippets) answer ??= verifySnippet(page, snippet);
  answer ??= bestPassage(page, words);
  if (!answer) return { snippet: undefined, relevance };
  return { snippet: answer.text, proof: { sha256: textSha256(visible), ...answer.span }, relevance };
}

const textSha256 = (visible: string): string => createHash('sha256').update(visible).digest('hex');
