import { findByNames, findByWords } from '../../apps/server/src/features/transcripts/analysis/search.sql.ts';
import { quantised } from '../../apps/server/src/features/transcripts/analysis/vectors.ts';
import { nearestVectors } from '../../apps/server/src/features/transcripts/analysis/vectors.sql.ts';
import {
  fillSearch,
  nodesOf,
  type PlanNode,
  plansOf,
  vectorFrom,
  wordFrom,
} from '../../apps/server/src/features/transcripts/transcripts.plans.testing.ts';
import type { Recorder } from '../../apps/server/src/features/transcripts/transcripts.testing.ts';
import type { Db, Sql } from '../../apps/server/src/kernel/db/db.ts';
import { randomOf } from '../../apps/server/src/testing.random.ts';
import { atMost, type Findings, type Row, type Target } from '../lib/report.ts';
import { percentile } from '../lib/stats.ts';
import type { Studio } from './studio.ts';

const dimensions = 1_024;
const each = 500;
const big = new Set(['utterances', 'vectors', 'names']);

/** Searches of an account with so many utterances beside as many of others, and what their plans read. */
export async function measureSearch(
  studio: Studio,
  { utterances, searches }: { utterances: number; searches: number },
  say: (text: string) => void,
): Promise<Findings> {
  const { sql } = studio;
  const recordings = Math.ceil(utterances / each);
  const own = await studio.another('seeker@example.test');
  const others = await studio.another('others@example.test');
  say(`search: writes ${2 * recordings * each} utterances`);
  await fillSearch(sql, own.accountId, { recordings, each, dimensions, seed: 1 });
  await fillSearch(sql, others.accountId, { recordings, each, dimensions, seed: 2 });
  await sql`vacuum analyze`;
  const random = randomOf(3);
  const searched = await timeSearches(own.recorder, { random, searches }, say);
  const planned = await readPlans(sql, own.accountId, random);
  return { rows: [...searched.rows, ...planned.rows], targets: [...searched.targets, ...planned.targets] };
}

const questionOf = (random: () => number): string => Array.from({ length: 3 }, () => wordFrom(random)).join(' ');

/** How long searches of each kind take over HTTP. */
async function timeSearches(
  recorder: Recorder,
  { random, searches }: { random: () => number; searches: number },
  say: (text: string) => void,
): Promise<Findings> {
  const rows: Row[] = [];
  const targets: Target[] = [];
  let wrong = 0;
  for (const [mode, what] of [
    ['text', 'words and names'],
    ['semantic', 'meaning'],
    ['hybrid', 'all ways'],
  ] as const) {
    say(`search: ${searches} by ${what}`);
    const taken: number[] = [];
    let failed = 0;
    for (let n = -10; n < searches; n += 1) {
      const q = new URLSearchParams({ q: questionOf(random), mode, limit: '20' });
      const began = performance.now();
      const { status, body } = await recorder.call('GET', `/v1/transcripts/search?${q.toString()}`);
      if (n >= 0) taken.push(performance.now() - began);
      if (status !== 200 || body.degraded.length > 0) failed += 1;
    }
    const [p50, p99] = [percentile(taken, 0.5), percentile(taken, 0.99)];
    rows.push({ what: `search by ${what}`, 'p50 ms': p50, 'p99 ms': p99, besides: `${failed} failed or degraded` });
    wrong += failed;
    targets.push(atMost(`search by ${what}, p99 ms`, p99, 500));
  }
  targets.push(atMost('searches that failed', wrong, 0));
  return { rows, targets };
}

/** What the plan of each statement of a search reads. */
async function readPlans(sql: Sql, accountId: string, random: () => number): Promise<Findings> {
  const rows: Row[] = [];
  const scope = {};
  const words = questionOf(random).split(' ');
  const { bits } = quantised(vectorFrom(random, dimensions));
  const asked: [string, (db: Db) => Promise<unknown>][] = [
    ['all words', (db) => findByWords(db, { accountId, words, mode: 'all', scope, limit: 400 })],
    ['any word', (db) => findByWords(db, { accountId, words, mode: 'any', scope, limit: 400 })],
    ['names', (db) => findByNames(db, { accountId, names: words, scope, limit: 400 })],
    ['vectors', (db) => nearestVectors(db, { accountId, model: 'vectors-1', bits, scope, limit: 400 })],
  ];
  let scans = 0;
  for (const [what, ask] of asked) {
    const nodes = (await plansOf(sql, ask)).flatMap(nodesOf);
    const read = nodes.filter((node) => big.has(node['Relation Name'] ?? ''));
    const scanned = read.filter((node) => node['Node Type'].includes('Seq Scan') && node['Relation Name'] !== 'names');
    scans += scanned.length;
    const blocks = (nodes[0]?.['Shared Hit Blocks'] ?? 0) + (nodes[0]?.['Shared Read Blocks'] ?? 0);
    const rowsRead = read.reduce((sum, node) => sum + rowsOf(node), 0);
    const ways = [...new Set(read.map(nameOf))].join(', ');
    rows.push({ what: `plan of ${what}`, besides: `${ways}: ${rowsRead} rows, ${blocks} blocks` });
  }
  return { rows, targets: [atMost('scans of utterances and vectors', scans, 0)] };
}

const nameOf = (node: PlanNode): string => `${node['Node Type']} of ${node['Relation Name']}`;
const rowsOf = (node: PlanNode): number =>
  ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
