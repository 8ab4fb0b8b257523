// The labelled pairs of snippets and pages: what is answered so that it misleads, and what is refused that stands there.
import { readFileSync } from 'node:fs';
import { readPage } from '@svc/extraction';
import { indexPage, type PageIndex, verifySnippet } from '@svc/verification';
import { atLeast, atMost, bench } from './lib/report.ts';

interface Pair {
  readonly class: string;
  readonly lang: string;
  readonly page: string;
  readonly snippet: string;
  readonly label: boolean;
  /** Of a claim: what has to stand beside it; empty: nothing makes it right. */
  readonly must?: readonly string[];
}

const fixtures = new URL('../packages/verification/fixtures/', import.meta.url);
const pairsOf = (path: string): Pair[] => JSON.parse(readFileSync(new URL(path, fixtures), 'utf8')) as Pair[];
const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
const words = (text: string): string =>
  ` ${
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(' ') ?? ''
  } `;
const holds = (text: string, part: string): boolean => words(text).includes(words(part));
const negation = /\b(?:not|no|never|nor|without|nothing|unless|cannot|nu|nici|fără|niciodată)\b|n['’]t\b/giu;
const negations = (text: string): number => text.match(negation)?.length ?? 0;

/** Whether an answer misleads: it holds the snippet and not what turns it. Without `must`, of a false one any answer but its negation. */
function misleads({ class: kind, snippet, label, must }: Pair, answer: string): boolean {
  if (label || answer === '') return false;
  if (must === undefined) return kind !== 'negation_flipped' || negations(answer) <= negations(snippet);
  const fragments = snippet.split('…').filter((fragment) => words(fragment).trim() !== '');
  if (!fragments.every((fragment) => holds(answer, fragment))) return false;
  return must.length === 0 || !must.every((part) => holds(answer, part));
}

await bench('verification', {}, async () => {
  const pages = new Map<string, PageIndex>();
  const pageOf = async ({ page, must }: Pair): Promise<PageIndex> => {
    const path = must ? `claims/pages/${page}.html` : `pages/${page}.txt`;
    const known = pages.get(path);
    if (known) return known;
    const bytes = readFileSync(new URL(path, fixtures));
    const from = { url: 'http://a.test/', contentType: 'text/html' };
    const { visible, outline } = must ? await readPage(bytes, from) : { visible: bytes.toString(), outline: [] };
    const index = indexPage(visible, outline);
    pages.set(path, index);
    return index;
  };
  const judged: (Pair & { isMisleading: boolean; isRefused: boolean })[] = [];
  for (const pair of [...pairsOf('pairs.json'), ...pairsOf('claims/pairs.json')]) {
    const answer = verifySnippet(await pageOf(pair), pair.snippet)?.text ?? '';
    judged.push({ ...pair, isMisleading: misleads(pair, answer), isRefused: pair.label && answer === '' });
  }
  const rows = [...Map.groupBy(judged, (pair) => `${pair.must ? 'claim: ' : ''}${pair.class} ${pair.lang}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, some]) => ({
      class: name,
      pairs: some.length,
      'false accepts': some.filter(({ isMisleading }) => isMisleading).length,
      'false rejects': some.filter(({ isRefused }) => isRefused).length,
    }));
  const falses = judged.filter(({ label }) => !label);
  const trues = (isClaim: boolean) => judged.filter(({ label, must }) => label && (must !== undefined) === isClaim);
  const recall = (some: readonly { isRefused: boolean }[]): number =>
    1 - share(some.filter(({ isRefused }) => isRefused).length, some.length);
  return {
    rows,
    targets: [
      atMost(
        'share of false accepts',
        share(falses.filter(({ isMisleading }) => isMisleading).length, falses.length),
        0.001,
      ),
      atLeast('claims that are answered', recall(trues(true)), 0.95),
      atLeast('snippets of engines that are answered', recall(trues(false)), 0.9),
    ],
  };
});
