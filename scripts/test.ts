import { execFileSync, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openDataDir } from '../apps/server/src/postgres/datadir.ts';
import { ensurePostgres, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { installSystemPackages } from './system-packages.ts';
import type { Family } from './test/family.ts';
import { type Outcomes, outcomeOf, runFiles } from './test/files.ts';
import { type Load, lanesOf, type Needs, partCount, partOf } from './test/lanes.ts';
import { buildImages, endBuild, startTestNode } from './test-node.ts';

/**
 * The test suite: two lanes more than there are processors, at most six, and one database server, for the `*.test.ts` whose
 * names contain one of the words given. Without a word it takes all, but of whole programs and browsers one part. A few files
 * that failed run once more with nothing beside them. Ends with what was left open, what this machine could not run, each
 * failure with its error, and a line that counts.
 */
const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    'system-packages': { type: 'boolean', default: true },
    // For tests of this program.
    root: { type: 'string', default: resolve(import.meta.dirname, '..') },
    'test-ms': { type: 'string' },
    'end-ms': { type: 'string', default: '8000' },
    'deaf-ms': { type: 'string', default: '120000' },
    again: { type: 'boolean', default: true },
  },
});
const { root } = options;
const part = choosePart();
/** How long the run's own node and database may take to end. */
const ownEndMs = 60_000;
/** Timeout of a test, unless it says otherwise: longer for whole programs, on a busy machine too. */
const insideMs = Number(options['test-ms'] ?? 300_000);
const outsideMs = Number(options['test-ms'] ?? 300_000);
/** Ends what is open after the last test of a lane; with the time to name it, less than 10 s. */
const limits = {
  endMs: Number(options['end-ms']),
  deafMs: Number(options['deaf-ms']),
};
/** More files than these fail for a reason that is not the load of the others. */
const mostAgain = 20;
/** A run that took longer so far repeats nothing: whoever waits for it has a limit, too. */
const longestBeforeAgainMs = 75 * 60_000;

/** Which part of what runs outside: of files that were named all, else what is asked for, else each part in its turn. */
function choosePart(): number | 'all' {
  const asked = process.env['SVC_TEST_PART'];
  if (named.length > 0 || asked === 'all') return 'all';
  if (asked !== undefined && asked !== '') {
    const wanted = Number(asked);
    if (Number.isInteger(wanted) && wanted >= 1 && wanted <= partCount) return wanted;
    console.error(`SVC_TEST_PART is "${asked}": it must be all, or a number from 1 to ${partCount}`);
    process.exit(1);
  }
  // By the day of the last commit: what failed fails again, and what mends it that day is tried on it.
  const at = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  return at.status === 0 ? 1 + (Math.floor(Number(at.stdout) / 86_400) % partCount) : 'all';
}

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
  cwd: root,
});
const files = tracked
  .toString()
  .split('\n')
  // A test makes a feature of these files and runs them there.
  .filter((file) => file !== '' && !file.startsWith('scripts/example/files/'))
  .filter((file) => named.length === 0 || named.some((name) => file.includes(name)))
  .sort();
if (files.length === 0) {
  console.error(`no test file matches ${named.join(' ')}`);
  process.exit(1);
}

const missing = installSystemPackages(
  {
    'nats-server': 'nats-server',
    'chromium-headless-shell': 'chromium-headless-shell',
    chromium: 'chromium',
    bwrap: 'bubblewrap',
    ffmpeg: 'ffmpeg',
    pdftotext: 'poppler-utils',
    cmark: 'cmark',
  },
  options['system-packages'],
);
const temporary = mkdtempSync(join(tmpdir(), 'svc-tests-'));
// A database in a folder that others cannot enter is placed elsewhere when this runs as root, and would stay there.
chmodSync(temporary, 0o755);
const dataDir = openDataDir({ dataDir: temporary, databaseUrl: undefined });
const postgres = await ensurePostgres(dataDir);
process.env['SVC_TEST_DATA_DIR'] = dataDir;
const { createTemplate } = await import('../apps/server/src/testing.ts');
await createTemplate();
const lanes = lanesOf(root, files);

const families = new Set<Family>();
const total: Outcomes = new Map();

/** Files of one process, and what each of their tests may take. */
interface Work extends Load {
  readonly testMs: number;
}

/** Takes the first of the queue that lanes share whose needs are there; waits where none is. */
async function nextWork(): Promise<Work | undefined> {
  for (;;) {
    const at = queue.findIndex(({ needs }) => there.has(needs));
    if (at >= 0) return queue.splice(at, 1)[0];
    if (queue.length === 0) return undefined;
    await once(arrivals, 'arrival');
  }
}

/** Works on the queue until it is empty; answers the seconds that this took. */
async function runLane(out: Writable): Promise<number> {
  const begun = performance.now();
  for (let next = await nextWork(); next !== undefined; next = await nextWork()) {
    const outcomes = await runFiles(next.files, { root, out, families, limits: { testMs: next.testMs, ...limits } });
    for (const [file, outcome] of outcomes) {
      const { passed, failures, skips, faults } = outcomeOf(total, file);
      total.set(file, {
        passed: passed + outcome.passed,
        failures: [...failures, ...outcome.failures],
        skips: [...skips, ...outcome.skips],
        faults: [...faults, ...outcome.faults],
      });
    }
  }
  return (performance.now() - begun) / 1000;
}

/**
 * Runs the files that failed again, one after the other, where they are few: a failure that only the load of the other
 * lanes makes is named, and fails no run. Answers what had failed and passes now.
 */
async function runAgain(): Promise<string[]> {
  const again = [...total].filter(([, { failures, faults }]) => failures.length + faults.length > 0);
  if (again.length > mostAgain) return [];
  const healed: string[] = [];
  for (const [file, before] of again) {
    if (file === '' || performance.now() > longestBeforeAgainMs) continue;
    const limitsNow = { testMs: outsideMs, ...limits };
    const outcomes = await runFiles([file], { root, out: process.stdout, families, limits: limitsNow });
    const now = outcomeOf(outcomes, file);
    if (outcomes.size > 1 || now.failures.length + now.faults.length > 0) continue;
    total.set(file, now);
    healed.push(...before.failures, ...before.faults);
  }
  return healed;
}

async function end(): Promise<void> {
  endBuild();
  for (const family of families) family.killWhole();
  if (node && 'close' in node) await node.close();
  await stopPostgres(postgres);
  rmSync(dataDir, { recursive: true, force: true });
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end().then(() => process.exit(1)));

/** Keeps a report until those before it are out. */
const keptReport = () => new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
const outside = part === 'all' ? lanes.outside : partOf(lanes.outside, part);
let queue: Work[] = [
  ...lanes.inside.map((load) => ({ ...load, testMs: insideMs })),
  ...outside.map((load) => ({ ...load, testMs: outsideMs })),
];
let node: Awaited<ReturnType<typeof startTestNode>> | undefined;
const there = new Set<Needs>(['nothing']);
const arrivals = new EventEmitter();
void prepare();

/** Brings what tests need: builds images where there are none, which takes minutes, and starts the node. */
async function prepare(): Promise<void> {
  const wanted = new Set(queue.map(({ needs }) => needs));
  const arrive = (what: Needs): void => {
    there.add(what);
    arrivals.emit('arrival');
  };
  try {
    if (wanted.has('node') || wanted.has('images')) node = await startTestNode(options['system-packages']);
    if (node && 'missing' in node) missing.push(node.missing);
    arrive('node');
    if (node && 'close' in node && wanted.has('images'))
      await buildImages(['office-acte', 'desktop'], options['system-packages']);
  } catch (error) {
    outcomeOf(total, '').faults.push((error as Error).message);
    const lost = queue.filter(({ needs }) => !there.has(needs)).flatMap(({ files: list }) => list);
    for (const file of lost) outcomeOf(total, file).faults.push(`${file}: was not begun`);
    queue = queue.filter(({ needs }) => there.has(needs));
  }
  arrive('images');
}

// Much of what a file does is waiting; but with six lanes two slow processors had tests wait for each other until they failed.
const laneCount = Math.min(6, availableParallelism() + 2);
const all = Array.from({ length: Math.min(laneCount, queue.length) }, (_, at) => ({ at: at + 1, out: keptReport() }));
const done = all.map(async ({ at, out }) => {
  const seconds = await runLane(out);
  out.end();
  return `${at} ${Math.round(seconds)} s`;
});
for (const { out } of all) for await (const chunk of out) process.stdout.write(chunk);
const times = await Promise.all(done);
const alone = options.again && files.length > 1 ? await runAgain() : [];
const ended = await Promise.race([end().then(() => true), delay(ownEndMs, false)]);
if (!ended) {
  outcomeOf(total, '').faults.push(`the run's own sandbox node or database did not end within ${ownEndMs} ms`);
}
const outcomes = [...total.values()];
const failures = outcomes.flatMap((outcome) => outcome.failures);
const faults = outcomes.flatMap((outcome) => outcome.faults);
const skips = outcomes.flatMap((outcome) => outcome.skips);
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = failures.length + faults.length;

console.log(`lanes: ${times.join(', ')}`);
for (const line of skips) console.log(`not run here: ${line}`);
if (outside.length < lanes.outside.length) {
  const left = lanes.outside.length - outside.length;
  console.log(
    `not run now: ${left} of ${lanes.outside.length} files of whole programs and browsers; this was part ${part} of ${partCount}, SVC_TEST_PART=all runs them all`,
  );
}
for (const line of missing) console.log(`missing here: ${line}`);
for (const text of alone) console.log(`passed alone after it had failed beside others: ${text}`);
for (const text of failures) console.log(`✖ ${text}`);
for (const line of faults) console.log(`failed: ${line}`);
const skipped = skips.length > 0 ? `, ${skips.length} skipped` : '';
console.log(`${passed} passed, ${failed} failed${skipped}`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
