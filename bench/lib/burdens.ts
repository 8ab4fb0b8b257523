import { atMost, type Findings } from './report.ts';

/** What an operation costs others: the longest turn of the loop, and the slowest small request, in milliseconds. */
export interface Burdened {
  readonly operation: string;
  readonly kB: number;
  readonly turn: number;
  readonly wait: number;
}

const mostTurnMs = 100;
const mostWaitMs = 250;

/** The heaviest first, and the two figures that are asked for. */
export function burdens(rows: readonly Burdened[], shown: number): Findings {
  const weight = ({ turn, wait }: Burdened): number => Math.max(turn / mostTurnMs, wait / mostWaitMs);
  const most = (name: 'turn' | 'wait'): number => Math.max(...rows.map((row) => row[name]));
  return {
    rows: rows
      .toSorted((one, two) => weight(two) - weight(one))
      .slice(0, shown)
      .map(({ turn, wait, ...row }) => ({ ...row, 'longest turn ms': turn, 'slowest small ms': wait })),
    targets: [
      atMost(`longest turn of the loop in ${rows.length} operations, ms`, most('turn'), mostTurnMs),
      atMost("another account's slowest small request, ms", most('wait'), mostWaitMs),
    ],
  };
}
