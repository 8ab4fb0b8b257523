import { parseArgs } from 'node:util';
import { tableOf } from './findings.ts';
import { openServer } from './server.ts';

/** Faults at every place, orders of moves, faults of the past: `npm run torture -- <word>`, see README.md. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    only: { type: 'string' },
    kind: { type: 'string' },
    nth: { type: 'string' },
    of: { type: 'string' },
    lanes: { type: 'string', default: '1' },
    days: { type: 'string', default: '365' },
    check: { type: 'boolean', default: false },
    clean: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const words = ['faults', 'orders', 'past', 'year'] as const;
const [word = ''] = positionals;
if (!words.some((known) => known === word)) {
  process.stderr.write(
    `usage: npm run torture -- ${words.join(' | ')} [--only <operation or table>] [--seed N] [--json]\n`,
  );
  process.exit(2);
}

const begun = performance.now();
const { only, kind, json, check, clean } = values;
await using server = check ? undefined : await openServer();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void Promise.resolve(server?.[Symbol.asyncDispose]()).finally(() => process.exit(1)));
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
  past: async () => {
    const { checkPast, past } = await import('./past.ts');
    return check ? checkPast() : past({ only, clean, tell, lanes: Number(values.lanes) });
  },
  year: async () => (await import('./year.ts')).year({ days: Number(values.days), seed: seed ?? 1, tell }),
};
const outcome = await run[word as (typeof words)[number]]();
const seconds = (performance.now() - begun) / 1_000;
const shown = json
  ? JSON.stringify({ ...outcome, kinds: Object.fromEntries(outcome.kinds), seconds })
  : tableOf(outcome, seconds);
process.stdout.write(`${shown}\n`);
process.exitCode = outcome.findings.length > 0 ? 1 : 0;
