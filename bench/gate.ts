// The ratios of the four short benches beside those that were stored: fails when one is 10 % worse. `--store` stores them.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import type { Findings, Row } from './lib/report.ts';

/** A figure that is compared: a ratio to a peer in the same run, so that it holds on another machine too. */
interface Gauge {
  readonly name: string;
  /** More is better. */
  readonly value: number;
}

const tolerated = 0.1;
const file = join(import.meta.dirname, 'gate.json');

const { values } = parseArgs({ options: { store: { type: 'boolean', default: false } } });
const gauges = [
  ...(await httpGauges()),
  ...(await relayGauges()),
  ...(await claimsGauges()),
  ...(await streamsGauges()),
];
if (values.store) {
  const stored = Object.fromEntries(gauges.map(({ name, value }) => [name, Number(value.toPrecision(4))]));
  writeFileSync(file, `${JSON.stringify(stored, null, 2)}\n`);
  process.stdout.write(`stored in ${file}\n`);
} else if (!existsSync(file)) {
  process.stdout.write('nothing is stored yet: scripts/node bench/gate.ts --store\n');
  process.exitCode = 2;
} else process.exitCode = compare(JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>) ? 0 : 1;

/** Prints each figure beside the stored one; answers whether none is worse. */
function compare(stored: Readonly<Record<string, number>>): boolean {
  const lines = gauges.map(({ name, value }) => {
    const before = stored[name] ?? value;
    const isWorse = value < before * (1 - tolerated);
    return { isWorse, text: `${isWorse ? 'worse' : 'ok   '}  ${before.toFixed(3)} -> ${value.toFixed(3)}  ${name}` };
  });
  process.stdout.write(`${lines.map(({ text }) => text).join('\n')}\n`);
  return lines.every(({ isWorse }) => !isWorse);
}

async function run(name: string, ...flags: string[]): Promise<readonly Row[]> {
  process.stderr.write(`${name}\n`);
  const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, `${name}.ts`), '--json', ...flags];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 16 * 1024 * 1024 });
  return (JSON.parse(stdout) as Findings).rows;
}

/** The figure `column` of the row that `fits`. */
function figure(rows: readonly Row[], column: string, fits: (row: Row) => boolean): number {
  const value = rows.find(fits)?.[column];
  if (typeof value !== 'number') throw new Error(`no figure "${column}"`);
  return value;
}

async function httpGauges(): Promise<Gauge[]> {
  const rows = await run('http', '--seconds', '2', '--rounds', '3');
  const share = (what: string, who: string): number =>
    figure(rows, 'svc requests/s : its', (row) => row['what'] === what && row['who'] === who);
  return [
    { name: 'authenticated GET : Fastify with the query', value: share('authenticated GET', 'fastify + query') },
    { name: '/health : Fastify', value: share('/health', 'fastify') },
  ];
}

async function relayGauges(): Promise<Gauge[]> {
  const rows = await run('relay', '--seconds', '2', '--rounds', '2');
  return [8, 64].map((level) => ({
    name: `relay calls with ${level} in flight : NATS`,
    value: figure(rows, 'svc calls/s : its', (row) => row['in flight'] === level && row['who'] === 'nats'),
  }));
}

async function claimsGauges(): Promise<Gauge[]> {
  const rows = await run('claims', '--runs', '2000');
  const rate = (who: string): number => figure(rows, 'per second', (row) => row['who'] === who);
  return [
    {
      name: 'claims : pg-boss fetch in process',
      value: rate('svc, claim over HTTP') / rate('pg-boss, fetch in process'),
    },
    {
      name: 'claim and result : pg-boss fetch and complete in process',
      value: rate('svc, claim and result over HTTP') / rate('pg-boss, fetch and complete in process'),
    },
  ];
}

/** Upside down: less memory is better. */
async function streamsGauges(): Promise<Gauge[]> {
  const rows = await run('streams', '--streams', '500', '--settle', '6');
  return [
    { name: 'memory of a stream, node:http : svc', value: 1 / figure(rows, 'svc : its', (row) => 'svc : its' in row) },
  ];
}
