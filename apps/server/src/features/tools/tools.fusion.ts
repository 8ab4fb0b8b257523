import { pageAddress } from '@svc/extraction/addresses';
import type { PageCandidate } from './sources/source.ts';

/** The candidates that one source named. */
export interface Ranking {
  readonly source: string;
  readonly candidates: readonly PageCandidate[];
}

/** A page that one source or more named. */
export interface Fused {
  /** Without tracking: the key. */
  readonly url: string;
  /** Each source that named it, the best place first. */
  readonly sources: readonly string[];
  /** The page's text as sources quote it; none of it is believed. */
  readonly snippets: readonly string[];
  readonly age: string;
  readonly score: number;
}

/** Reciprocal-rank fusion's usual constant: how little the first place is above the second. */
const k = 60;
const longestUrl = 2_048;
const longestSnippet = 2_000;

/** One order from many: a page scores 1 / (60 + place) in each ranking that names it (Cormack et al., 2009). */
export function fuse(rankings: readonly Ranking[]): Fused[] {
  const found = new Map<string, { places: { source: string; place: number }[]; snippets: string[]; age: string }>();
  for (const { source, candidates } of rankings) {
    const seen = new Set<string>();
    for (const [place, { url, snippet, age }] of candidates.entries()) {
      const key = keyOf(url);
      if (key === undefined || seen.has(key)) continue;
      seen.add(key);
      const page = found.get(key) ?? { places: [], snippets: [], age: '' };
      found.set(key, page);
      page.places.push({ source, place });
      if (snippet !== '') page.snippets.push(cleaned(snippet));
      page.age ||= age;
    }
  }
  return [...found]
    .map(([url, { places, snippets, age }]) => ({
      url,
      sources: places.toSorted((a, b) => a.place - b.place).map(({ source }) => source),
      snippets,
      age,
      score: places.reduce((sum, { place }) => sum + 1 / (k + place + 1), 0),
    }))
    .toSorted((a, b) => b.score - a.score);
}

/** Two orders of the same things as one: the sum of their reciprocal ranks. */
export function reranked<T>(first: readonly T[], second: readonly T[]): T[] {
  const score = new Map<T, number>();
  for (const order of [first, second])
    for (const [place, one] of order.entries()) score.set(one, (score.get(one) ?? 0) + 1 / (k + place + 1));
  return [...first].sort((a, b) => (score.get(b) ?? 0) - (score.get(a) ?? 0));
}

/** Whether a host is one of some domains, or below one. */
export const isBelow = (host: string, domains: readonly string[]): boolean =>
  domains.some((domain) => host === domain || host.endsWith(`.${domain}`));

function keyOf(url: string): string | undefined {
  if (url.length > longestUrl || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return undefined;
  return pageAddress(url);
}

const cleaned = (snippet: string): string => snippet.slice(0, longestSnippet).toWellFormed().replaceAll('\u0000', '');
