import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { openDataDir } from '../apps/server/src/kernel/datadir.ts';
import { ensurePostgres, stopPostgres } from '../apps/server/src/kernel/embedded.ts';
import { installSystemPackages } from './system-packages.ts';
import type { Family } from './test/family.ts';
import { type Outcome, runFiles } from './test/files.ts';
import { lanesOf } from './test/lanes.ts';
import { startTestNode } from './test-node.ts';

/**
 * The test suite: three lanes, one database server, every `*.test.ts` of the repository or the files given. Ends with
 * what was left open, what this machine could not run, and a line that counts.
 */
const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    'system-packages': { type: 'boolean', default: true },
    // For tests of this program.
    root: { type: 'string', default: resolve(import.meta.dirname, '..') },
    'test-ms': { type: 'string', default: '120000' },
    'end-ms': { type: 'string', default: '8000' },
    'deaf-ms': { type: 'string', default: '120000' },
  },
});
const { root } = options;
const limits = {
  testMs: Number(options['test-ms']),
  endMs: Number(options['end-ms']),
  deafMs: Number(options['deaf-ms']),
};

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
  cwd: root,
});
const all = tracked
  .toString()
  .split('\n')
  .filter((file) => file !== '');
const files = (named.length > 0 ? all.filter((file) => named.some((name) => file.includes(name))) : all).sort();
if (files.length === 0) {
  console.error(`no test file matches ${named.join(' ')}`);
  process.exit(1);
}

const missing = installSystemPackages(
  { 'nats-server': 'nats-server', chromium: 'chromium' },
  options['system-packages'],
);
const temporary = mkdtempSync(join(tmpdir(), 'svc-tests-'));
// A database in a folder that others cannot enter is placed elsewhere when this runs as root, and would stay there.
chmodSync(temporary, 0o755);
const dataDir = openDataDir(temporary, true);
const postgres = await ensurePostgres(dataDir);
process.env['SVC_TEST_DATA_DIR'] = dataDir;
const { createTemplate } = await import('../apps/server/src/testing.ts');
await createTemplate();
const lanes = lanesOf(root, files);
const node = lanes.needsNode ? await startTestNode(options['system-packages']) : undefined;
if (node && 'missing' in node) missing.push(node.missing);

const families = new Set<Family>();
const total: Outcome = { passed: 0, failed: 0, skips: [], faults: [] };

/** Seconds that each lane took. */
const took: Record<string, number> = {};

async function run(lane: string, names: readonly string[], out: Writable): Promise<void> {
  if (names.length === 0) return;
  const begun = performance.now();
  const { passed, failed, skips, faults } = await runFiles(names, { root, out, limits, families });
  total.passed += passed;
  total.failed += failed + faults.length;
  total.skips.push(...skips);
  total.faults.push(...faults);
  took[lane] = (took[lane] ?? 0) + (performance.now() - begun) / 1000;
}

async function end(): Promise<void> {
  for (const family of families) family.kill();
  if (node && 'close' in node) await node.close();
  await stopPostgres(postgres);
  rmSync(dataDir, { recursive: true, force: true });
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end().then(() => process.exit(1)));

/** Two files of whole programs at a time: most of what they do is waiting. */
const waiting = [...lanes.outside];
const outsiders = ['outside 1', 'outside 2'].map(async (lane) => {
  // Keeps a report until the one of the inside lane is out.
  const report = new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) await run(lane, [file], report);
  report.end();
  return report;
});
await run('inside', lanes.inside, process.stdout);
for (const report of await Promise.all(outsiders)) for await (const chunk of report) process.stdout.write(chunk);
await end();

const times = Object.entries(took).map(([lane, seconds]) => `${lane} ${Math.round(seconds)} s`);
console.log(`lanes: ${times.join(', ')}`);
for (const line of total.skips) console.log(`not run here: ${line}`);
for (const line of missing) console.log(`missing here: ${line}`);
for (const line of total.faults) console.log(`failed: ${line}`);
const skipped = total.skips.length > 0 ? `, ${total.skips.length} skipped` : '';
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0);
