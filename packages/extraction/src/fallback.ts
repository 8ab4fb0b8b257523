import type { Block } from './blocks.ts';
import { linkedBody, linkedData } from './metadata.jsonld.ts';
import { clean, collapse, cut } from './text.ts';

/** Content below this says that a script was to fetch or draw the page. */
const leastContent = 200;
/** Below this nothing is there. */
const leastText = 50;
const mostText = 200_000;
/** A shorter string of data is a label, and where nothing else is there one with fewer words than a sentence has. */
const prose = { units: 80, spaces: 8 };
const sentence = { units: 25, spaces: 3 };
const mostNodes = 50_000;
/** Data of these names is for programs. */
const technical = /css|style|svg|script|token|hash|url|href|class|query|locale|messages|translations|cookie|consent/i;

/** Content of a page that is not visible. */
interface Unseen {
  readonly jsonLd: readonly string[];
  /** Texts of `application/json` scripts, from which a page's script draws it. */
  readonly data: readonly string[];
  readonly hasScripts: boolean;
}

/**
 * The content of a page that shows nearly nothing without its script: the text in its JSON-LD, else the long texts in its
 * data, else its description and the sentences there. `needsScript`: it has no text of its own there. `readHtml` reads HTML that stands in data.
 */
export function contentOf(
  blocks: readonly Block[],
  unseen: Unseen,
  readHtml: (html: string) => string,
): { blocks: readonly Block[]; needsScript: boolean } {
  const own = lengthOf(blocks, leastContent);
  if (own >= leastContent) return { blocks, needsScript: false };
  const isNothing = own < leastText;
  const linked = linkedBody(unseen.jsonLd);
  const data = dataText(unseen.data, prose);
  // Where nothing is there, any text is better than none: the longer of two short ones.
  const both = isNothing && data.length > linked.length ? [data, linked] : [linked, data];
  for (const text of both) {
    const readable = isHtml(text) ? readHtml(text) : text;
    if (readable.length >= (isNothing ? 1 : leastContent) && readable.length > 2 * own)
      return { blocks: [...blocks, ...paragraphs(readable)], needsScript: false };
  }
  const needsScript = isNothing && unseen.hasScripts;
  if (!isNothing) return { blocks, needsScript };
  // What a page says of itself, and its short sentences: not all that its script would show.
  const rest = [linkedData(unseen.jsonLd).description, dataText(unseen.data, sentence)].filter((text) => text !== '');
  const readable = rest.map((text) => (isHtml(text) ? readHtml(text) : text)).join('\n');
  return { blocks: readable.length > 2 * own ? [...blocks, ...paragraphs(readable)] : blocks, needsScript };
}

const isHtml = (text: string): boolean => /<(?:p|div|h[1-6]|li|br|ul|span)\b/i.test(text);

const paragraphs = (text: string): Block[] =>
  clean(cut(text, mostText))
    .split(/\n+/)
    .map((line) => collapse(line).trim())
    .filter((line) => line !== '')
    .map((line) => ({ type: 'paragraph', runs: [{ text: line }] }));

/** UTF-16 units of some blocks, counted up to `enough`. */
function lengthOf(blocks: readonly Block[], enough: number): number {
  let length = 0;
  const waiting: Block[] = blocks.toReversed();
  for (let block = waiting.pop(); block && length < enough; block = waiting.pop()) {
    if ('runs' in block) length += block.runs.reduce((sum, run) => sum + run.text.trim().length, 0);
    else if ('text' in block) length += block.text.trim().length;
    else if (block.type === 'list') waiting.push(...block.items.flat());
    else if (block.type === 'quote') waiting.push(...block.blocks);
    else if (block.type === 'table') length += JSON.stringify(block.rows.slice(0, 100)).length;
  }
  return length;
}

/** The long texts of data, in their order, each once, a line each. */
function dataText(scripts: readonly string[], least: typeof prose): string {
  const found = new Set<string>();
  let [nodes, units] = [0, 0];
  for (const script of scripts) {
    let top: unknown;
    try {
      top = JSON.parse(script);
    } catch {
      continue;
    }
    const waiting: unknown[] = [top];
    while (waiting.length > 0 && nodes < mostNodes && units < mostText) {
      nodes += 1;
      const value = waiting.pop();
      if (typeof value === 'string') {
        if (!isProse(value, least) || found.has(value)) continue;
        found.add(value);
        units += value.length;
      } else if (Array.isArray(value)) waiting.push(...value.slice(0, mostNodes).toReversed());
      else if (typeof value === 'object' && value !== null)
        waiting.push(
          ...Object.entries(value)
            .slice(0, mostNodes)
            .flatMap(([name, inner]) => (technical.test(name) ? [] : [inner]))
            .toReversed(),
        );
    }
  }
  return [...found].join('\n');
}

const isProse = (text: string, least: typeof prose): boolean =>
  text.length >= least.units &&
  text.slice(0, 1_000).split(' ').length > least.spaces &&
  !/^\s*(?:https?:|data:|\{|\[|function\b|\(\s*\)|@media|[.#][\w-]+\s*\{)/.test(text);
