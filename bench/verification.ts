// The labelled pairs of snippets and pages: what is accepted that does not stand there, and what is refused that does.
import { readFileSync } from 'node:fs';
import { standsOn } from '@svc/verification';
import { atMost, bench } from './lib/report.ts';

interface Pair {
  readonly class: string;
  readonly lang: string;
  readonly page: string;
  readonly snippet: string;
  readonly label: boolean;
}

const fixtures = new URL('../packages/verification/fixtures/', import.meta.url);
const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

await bench('verification', {}, async () => {
  const pairs = JSON.parse(readFileSync(new URL('pairs.json', fixtures), 'utf8')) as Pair[];
  const judged = pairs.map((pair) => {
    const text = readFileSync(new URL(`pages/${pair.page}.txt`, fixtures), 'utf8');
    return { ...pair, accepted: standsOn(text, pair.snippet) };
  });
  const rows = [...Map.groupBy(judged, (pair) => `${pair.class} ${pair.lang}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, some]) => ({
      class: name,
      pairs: some.length,
      'false accepts': some.filter(({ label, accepted }) => accepted && !label).length,
      'false rejects': some.filter(({ label, accepted }) => label && !accepted).length,
    }));
  const falses = judged.filter(({ label }) => !label);
  const trues = judged.filter(({ label }) => label);
  const strict = falses.filter((pair) => /^(?:number|date|negation)/.test(pair.class));
  return {
    rows,
    targets: [
      atMost('false accepts: numbers, dates, negations', strict.filter(({ accepted }) => accepted).length, 0),
      atMost('share of false accepts', share(falses.filter(({ accepted }) => accepted).length, falses.length), 0.01),
      atMost('share of false rejects', share(trues.filter(({ accepted }) => !accepted).length, trues.length), 0.1),
    ],
  };
});
