import { parseArgs } from 'node:util';
import { tableOf } from './findings.ts';
import { openServer } from './server.ts';

/** Faults at every place, and orders of moves: `npm run torture -- faults`, `npm run torture -- orders`. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    kind: { type: 'string' },
    nth: { type: 'string' },
    of: { type: 'string' },
    lanes: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

const words = ['faults', 'orders'] as const;
const [word = ''] = positionals;
if (!words.some((known) => known === word)) {
  process.stderr.write(
    `usage: npm run torture -- ${words.join(' | ')} [--only <operation or table>] [--seed N] [--json]\n`,
  );
  process.exit(2);
}

const begun = performance.now();
await using _server = await openServer();
const { only, kind, json } = values;
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const seed = values.seed === undefined ? undefined : Number(values.seed);
/** Cases of each table that a seed chooses. */
const sampled = 10;
const nth = values.nth === undefined ? undefined : Number(values.nth);
const run = {
  faults: async () =>
    (await import('./faults.ts')).faults({ only, kind, nth, tell, lanes: Number(values.lanes), sample: seed }),
  orders: async () =>
    (await import('./orders.ts')).orders({
      only,
      of: values.of,
      tell,
      ...(seed !== undefined && { seed, sample: sampled }),
    }),
};
const outcome = await run[word as (typeof words)[number]]();
const seconds = (performance.now() - begun) / 1_000;
const shown = json
  ? JSON.stringify({ ...outcome, kinds: Object.fromEntries(outcome.kinds), seconds })
  : tableOf(outcome, seconds);
process.stdout.write(`${shown}\n`);
process.exitCode = outcome.findings.length > 0 ? 1 : 0;
