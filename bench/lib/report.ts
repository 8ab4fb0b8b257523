import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { cpuSeconds } from './processes.ts';

/** A line of the table at the end. */
export type Row = Readonly<Record<string, string | number>>;

/** A figure beside what is asked of it. */
export interface Target {
  readonly what: string;
  readonly measured: number;
  readonly asked: string;
  readonly met: boolean;
}

/** Result of a benchmark. */
export interface Findings {
  readonly rows: readonly Row[];
  readonly targets: readonly Target[];
}

/** A target that is met at `limit` or above. */
export const atLeast = (what: string, measured: number, limit: number): Target => ({
  what,
  measured,
  asked: `>= ${limit}`,
  met: measured >= limit,
});

/** A target that is met at `limit` or below. */
export const atMost = (what: string, measured: number, limit: number): Target => ({
  what,
  measured,
  asked: `<= ${limit}`,
  met: measured <= limit,
});

/**
 * Runs a benchmark and prints its table and targets, or all of it as JSON with `--json`. Each of `defaults` is a flag
 * that takes a number. A missed target is printed, and no failure: the machine may be busy with something else.
 */
export async function bench<O extends Record<string, number>>(
  name: string,
  defaults: O,
  work: (options: O, say: (text: string) => void) => Promise<Findings>,
): Promise<void> {
  const flags = Object.entries(defaults).map(([flag, value]) => [flag, { type: 'string', default: `${value}` }]);
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, ...Object.fromEntries(flags) } });
  const { json = false, ...numbers }: { json?: unknown } = values;
  const options = Object.fromEntries(Object.entries(numbers).map(([flag, value]) => [flag, Number(value)])) as O;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    const say = (text: string): void => void process.stderr.write(`${text}\n`);
    const began = performance.now();
    const before = cpuSeconds();
    const findings = await work(options, say);
    const machine = describeMachine(before, (performance.now() - began) / 1000);
    process.stdout.write(
      json === true ? `${JSON.stringify({ name, machine, ...findings })}\n` : text(findings, machine),
    );
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** Names the machine, and says how much of it others took meanwhile: with more than a little, figures tell less. */
function describeMachine(before: ReturnType<typeof cpuSeconds>, seconds: number): string {
  const after = cpuSeconds();
  const others = (after.machine - before.machine - (after.own - before.own)) / seconds;
  const cores = `${cpus().length} x ${cpus()[0]?.model}`;
  return `${cores}, Node.js ${process.version}; other processes used ${Math.max(0, others).toFixed(2)} cores meanwhile`;
}

function text({ rows, targets }: Findings, machine: string): string {
  const goals = targets.map(({ what, measured, asked, met }) => ({
    target: what,
    measured,
    asked,
    '': met ? 'met' : 'missed',
  }));
  return `\n${machine}\n\n${table(rows)}\n\n${table(goals)}\n`;
}

function table(rows: readonly Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const isNumber = names.map((name) => rows.some((row) => typeof row[name] === 'number'));
  const pad = (value: string, column: number): string =>
    isNumber[column] ? value.padStart(widths[column] ?? 0) : value.padEnd(widths[column] ?? 0);
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

function cell(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  if (Math.abs(value) >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en');
  return value.toFixed(2);
}
