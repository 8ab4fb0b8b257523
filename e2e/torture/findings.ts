/** A fault of the product that a case showed. */
export interface Finding {
  /** The case: operation or table, and what was done to it. */
  readonly what: string;
  readonly says: string;
  /** Arguments of `npm run torture` that show it again. */
  readonly replay: string;
}

/** What a word of torture did. */
export interface Outcome {
  readonly word: string;
  cases: number;
  /** Faults that were put in, or switches between transactions. */
  faults: number;
  readonly findings: Finding[];
  /** By kind: how many, for the table. */
  readonly kinds: Map<string, number>;
  /** Words of what could not be tried, and why. */
  readonly skipped: string[];
}

export const outcomeOf = (word: string): Outcome => ({
  word,
  cases: 0,
  faults: 0,
  findings: [],
  kinds: new Map(),
  skipped: [],
});

/** Counts one of a kind. */
export const tally = ({ kinds }: Outcome, kind: string): void => void kinds.set(kind, (kinds.get(kind) ?? 0) + 1);

/** The table at the end. */
export function tableOf(outcome: Outcome, seconds: number): string {
  const { word, cases, faults, findings, kinds, skipped } = outcome;
  const line = (name: string, value: string | number): string => `${name.padEnd(44)} ${String(value).padStart(8)}`;
  return [
    line(`${word}: cases`, cases),
    line('faults put in', faults),
    ...[...kinds].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => line(`  ${kind}`, count)),
    line('seconds', seconds.toFixed(1)),
    line('findings', findings.length),
    ...skipped.map((words) => `not tried: ${words}`),
    ...findings.flatMap(({ what, says, replay }) => [`✖ ${what}`, `    ${says}`, `    npm run torture ${replay}`]),
  ].join('\n');
}
