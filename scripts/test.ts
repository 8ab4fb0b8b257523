import { execFileSync, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdtempSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openDataDir } from '../apps/server/src/postgres/datadir.ts';
import { type EmbeddedPostgres, stopPostgres } from '../apps/server/src/postgres/embedded.ts';
import { installSystemPackages } from './system-packages.ts';
import { removeLeftAccounts } from './test/account.ts';
import { changedSince, testsOf } from './test/changed.ts';
import { keepCosts, machineSeconds, processSeconds, readCosts, shipCosts } from './test/costs.ts';
import type { Family } from './test/family.ts';
import { type Outcomes, outcomeOf, runFiles } from './test/files.ts';
import { type Needs, needDatabase, type Piece, piecesOf, startPrograms } from './test/lanes.ts';
import { keepReach } from './test/reach.ts';
import { costsOf, report } from './test/report.ts';
import { openScratch, whyFull } from './test/scratch.ts';
import { buildImages, endBuild, startTestNode } from './test-node.ts';

/**
 * The test suite: two lanes more than there are processors, and one database server, for the `*.test.ts` whose names
 * contain one of the words given; without a word all of them. `--changed [ref]` takes those that a change likely
 * reaches, `--names` prints the name of every test and runs none, `--costs` writes what files took into
 * `scripts/test/seconds.json`. `--reach` records which functions each file runs, for `--changed`; programs run from
 * their sources then. Ends with what the run cost, what this machine could not run, each failure with its error, and a
 * line that counts.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    changed: { type: 'boolean', default: false },
    names: { type: 'boolean', default: false },
    costs: { type: 'boolean', default: false },
    reach: { type: 'boolean', default: false },
    'system-packages': { type: 'boolean', default: true },
    // For tests of this program.
    root: { type: 'string', default: resolve(import.meta.dirname, '..') },
    'test-ms': { type: 'string', default: '600000' },
    'end-ms': { type: 'string', default: '20000' },
    'deaf-ms': { type: 'string', default: '300000' },
  },
});
const { root } = options;
const begun = machineSeconds();
/** How long the run's own node and database may take to end. */
const ownEndMs = 60_000;
/** How long a process has after its last test to end what it started: a browser takes ten seconds on a busy machine. */
const limits = {
  testMs: Number(options['test-ms']),
  endMs: Number(options['end-ms']),
  deafMs: Number(options['deaf-ms']),
};
/** How often it is looked whether tests can still write. */
const lookMs = 1_000;
const notes: string[] = [];

const files = chooseFiles();
if (options.names) {
  const words = [join(import.meta.dirname, 'test/names.ts'), root, ...files];
  process.exit(spawnSync(process.execPath, words, { stdio: 'inherit' }).status ?? 1);
}

/** All test files, those that were named, or those that a change asks for. */
function chooseFiles(): string[] {
  const known = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.test.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const all = known
    .split('\n')
    // A test makes a feature of these files and runs them there.
    .filter((file) => file !== '' && !file.startsWith('scripts/example/files/'))
    .sort();
  if (options.changed) {
    const ref = positionals[0] ?? 'HEAD';
    const known = readCosts(root);
    const secondsOf = (file: string): number => known.get(file)?.cpu ?? 0;
    const chosen = testsOf(root, changedSince(root, ref), all, { ref, secondsOf });
    notes.push(`run now: ${chosen.why}`);
    if (chosen.files.length === 0) {
      console.log('0 passed, 0 failed: the change reaches no test that is known');
      process.exit(0);
    }
    return [...chosen.files];
  }
  const named = all.filter((file) => positionals.length === 0 || positionals.some((name) => file.includes(name)));
  if (named.length === 0) {
    console.error(`no test file matches ${positionals.join(' ')}`);
    process.exit(1);
  }
  return named;
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
removeLeftAccounts();
const scratch = openScratch();
const postgres = needDatabase(root, files) ? await openDatabaseServer() : undefined;
if (options.reach) process.env['SVC_TEST_SOURCE'] = '1';
else if (startPrograms(root, files)) {
  const launcher = resolve(import.meta.dirname, '../packages/programs/launch.mjs');
  process.env['SVC_TEST_BUNDLE'] = execFileSync(process.execPath, [launcher, '--folder'], { encoding: 'utf8' });
  // Else each platform of the first minutes builds its own, in its data dir and in the midst of what is looked at
  // there.
  execFileSync(process.execPath, [resolve(import.meta.dirname, '../apps/hub/build.ts')], { stdio: 'ignore' });
}

/** The app is loaded for it: a run of a package alone is spared a second. */
async function openDatabaseServer(): Promise<EmbeddedPostgres> {
  const { openCluster, timeDatabase } = await import('./test/cluster.ts');
  const dataDir = openDataDir({ dataDir: join(scratch.path, 'data'), databaseUrl: undefined });
  const opened = await openCluster(dataDir, join(scratch.path, 'cluster'));
  if (scratch.kind === 'disk') {
    const took = `where a database of their own takes ${await timeDatabase()} ms; as root they write to memory`;
    notes.push(`slower here: tests write to a disk, ${took}`);
  }
  return opened;
}

const costs = readCosts(root);
const families = new Set<Family>();
const total: Outcomes = new Map();
let queue: Piece[] = piecesOf(root, files, (file) => costs.get(file)?.wall);
const there = new Set<Needs>(['nothing']);
const arrivals = new EventEmitter();
let node: Awaited<ReturnType<typeof startTestNode>> | undefined;
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
    giveUp((error as Error).message, ({ needs }) => !there.has(needs));
  }
  arrive('images');
}

/** Begins no piece of those that match: each of their files counts as failed. */
function giveUp(why: string, isLost: (piece: Piece) => boolean): void {
  outcomeOf(total, '').faults.push(why);
  for (const file of queue.filter(isLost).flatMap((piece) => piece.files))
    outcomeOf(total, file).faults.push(`${file}: was not begun`);
  queue = queue.filter((piece) => !isLost(piece));
}

// Full, hundreds of tests would each fail for a reason of its own.
const looking = setInterval(() => {
  const full = whyFull(scratch.path);
  if (full === undefined) return;
  clearInterval(looking);
  queue = [];
  outcomeOf(total, '').faults.push(full);
  for (const family of families) family.killWhole();
}, lookMs).unref();

/** Takes the first of the queue that lanes share whose needs are there; waits where none is. */
async function nextPiece(): Promise<Piece | undefined> {
  for (;;) {
    const at = queue.findIndex(({ needs }) => there.has(needs));
    if (at >= 0) return queue.splice(at, 1)[0];
    if (queue.length === 0) return undefined;
    await once(arrivals, 'arrival');
  }
}

/** Works on the queue until it is empty. */
async function runLane(out: Writable): Promise<void> {
  for (let next = await nextPiece(); next !== undefined; next = await nextPiece()) {
    const reach = options.reach ? mkdtempSync(join(scratch.path, 'ran-')) : undefined;
    if (reach !== undefined) chmodSync(reach, 0o1777);
    const outcomes = await runFiles(next.files, { root, out, families, limits, ...(reach !== undefined && { reach }) });
    for (const [file, outcome] of outcomes) {
      const { passed, failures, skips, faults } = outcomeOf(total, file);
      total.set(file, {
        passed: passed + outcome.passed,
        failures: [...failures, ...outcome.failures],
        skips: [...skips, ...outcome.skips],
        faults: [...faults, ...outcome.faults],
        ...(outcome.cost && { cost: outcome.cost }),
        ...(outcome.ran && { ran: outcome.ran }),
      });
    }
  }
}

/** Seconds that the database server has worked, once it is stopped. */
let ofDatabase: number | undefined;

async function end(): Promise<void> {
  clearInterval(looking);
  // A lane whose file is ended here takes no other one.
  queue = [];
  endBuild();
  for (const family of families) family.killWhole();
  if (node && 'close' in node) await node.close();
  if (postgres) {
    ofDatabase = processSeconds(postgres.pid);
    await stopPostgres(postgres);
  }
  scratch.remove();
  removeLeftAccounts();
}
let ending: Promise<void> | undefined;
/** Ends the run early: its lanes end with what they had, and it is reported. A group of processes may be told twice. */
function stop(signal: string): void {
  if (ending) return;
  giveUp(`the run was ended by ${signal}`, () => true);
  ending = end();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);

/**
 * Part of what a file does is waiting: with one lane more than processors these stood idle for four tenths of the time
 * that files in process took. Beyond this the waits cost more than they fill: the same 201 tests took 44 s of
 * processors at a load of 4, and 59 at 15. A lane takes a GiB with its programs and pages; the database has 200
 * connections.
 */
const laneCount = Math.max(1, Math.min(12, availableParallelism() + 2, Math.floor(totalmem() / 1.2e9), queue.length));
// Keeps a report until those before it are out.
const all = Array.from({ length: laneCount }, () => new PassThrough({ highWaterMark: 64 * 1024 * 1024 }));
const done = all.map((out) => runLane(out).finally(() => out.end()));
for (const out of all) for await (const chunk of out) process.stdout.write(chunk);
await Promise.all(done);
ending ??= end();
const ended = await Promise.race([ending.then(() => true), delay(ownEndMs, false)]);
if (!ended) {
  outcomeOf(total, '').faults.push(`the run's own sandbox node or database did not end within ${ownEndMs} ms`);
}
keepCosts(root, costsOf(total));
if (options.reach) keepReach(root, new Map([...total].flatMap(([file, { ran }]) => (ran ? [[file, ran]] : []))));
if (options.costs) shipCosts(root, costsOf(total));
process.exit(report(total, { missing, notes, lanes: laneCount, begun, ofDatabase }));
