import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { suiteSeed } from '../../apps/server/src/testing.random.ts';
import { ownSeconds } from './costs.ts';
import type { Message, Work } from './files.ts';
import { followNoPromises, followTests, type Open, watchOpen, watchUncaught } from './open.ts';
import { type CoveredScript, functionsOf } from './reach.ts';

/** Runs test files in this process, one test after the other, and tells the runner what comes of them. */
const [{ root, endMs, files, account }] = (await once(process, 'message')) as [Work];
// A run that was killed hears nothing any more; to listen for it keeps no process alive.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();
const { stdout } = process;
const running = followTests();
const openNow = watchOpen(running);
const takeUncaught = watchUncaught(running);
followNoPromises();
/** Those for which a test failed. */
const told = new Set<unknown>();
/** An error's message, and of its stack where it was thrown. */
const mostErrorLetters = 1_500;

const tell = (message: Message): Promise<void> =>
  new Promise((resolve) => {
    if (process.send) process.send(message, () => resolve());
    else resolve();
  });
const pathOf = (file: string | undefined): string => relative(root, file ?? '');

// Keeps the process alive under a test that waits for nothing, and shows the runner that no test blocks it.
const alive = setInterval(() => void tell({ type: 'alive' }), 1_000);

// Histories that fast-check makes are those of every run, where no other seed is asked for.
if (files.some((file) => readFileSync(file, 'utf8').includes("'fast-check'"))) {
  const { default: fastCheck } = await import('fast-check');
  fastCheck.configureGlobal({ seed: suiteSeed });
}

const stream = run({ files, isolation: 'none' });
let waiting = 0;
/** The file whose tests run, and what was used before its first. One alone pays for what it imports. */
let begun = { file: files.length === 1 ? pathOf(files[0]) : '', wall: 0, cpu: 0 };

const takeCovered = startCovering();

/** Records which functions run, where the runner asks for it; answers those since it was asked last. */
function startCovering(): (() => string[]) | undefined {
  const { SVC_TEST_REACH: folder } = process.env;
  if (folder === undefined) return undefined;
  // Programs that tests start write theirs there when they end.
  process.env['NODE_V8_COVERAGE'] = folder;
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return () => {
    let scripts: CoveredScript[] = [];
    // On the same thread it answers at once.
    session.post('Profiler.takePreciseCoverage', (_error, { result }) => (scripts = result));
    return functionsOf(root, scripts);
  };
}

/** Tells what the file before took, and begins to count for this one. */
function count(file: string): void {
  if (file === begun.file) return;
  const functions = takeCovered?.();
  if (functions && begun.file !== '') void tell({ type: 'ran', file: begun.file, functions });
  const now = { file, wall: performance.now() / 1000, cpu: ownSeconds(account) };
  if (begun.file !== '')
    void tell({ type: 'cost', file: begun.file, wall: now.wall - begun.wall, cpu: now.cpu - begun.cpu });
  begun = now;
}
stream.on('test:enqueue', ({ nesting }) => {
  if (nesting === 0) waiting += 1;
});
stream.on('test:dequeue', ({ name, file, nesting }) => {
  if (nesting === 0) count(pathOf(file));
  void tell({ type: 'start', name, file: pathOf(file) });
});
stream.on('test:pass', ({ name, skip, details, file }) => {
  if (details.type === 'suite') return;
  if (skip === undefined) void tell({ type: 'pass', file: pathOf(file) });
  else void tell({ type: 'skip', file: pathOf(file), text: `${pathOf(file)}: ${name}: ${String(skip)}` });
});
stream.on('test:fail', ({ name, details, file }) => {
  // A suite fails with its tests, which are counted; on its own it fails by its hooks.
  const { failureType, cause } = details.error as { failureType?: string; cause?: unknown };
  if (details.type === 'suite' && failureType === 'subtestsFailed') return;
  told.add(cause);
  fail(file, name, cause ?? details.error);
});
stream.on('test:complete', ({ nesting }) => {
  if (nesting === 0) waiting -= 1;
  if (waiting === 0) end();
});
// Each file's own summary would stand between the reports.
const report = stream.compose(async function* (events) {
  for await (const event of events) if (event.type !== 'test:diagnostic' || event.data.nesting > 0) yield event;
});
const reported = pipeline(report, new spec(), stdout, { end: false });

function fail(file: string | undefined, name: string, error: unknown): void {
  const why = inspect(error).slice(0, mostErrorLetters).replaceAll('\n', '\n  ');
  void tell({ type: 'fail', file: pathOf(file), text: `${pathOf(file)}: ${name}\n  ${why}` });
}

/** After the last test: the process ends by itself, or says what keeps it and is ended. */
function end(): void {
  clearInterval(alive);
  count('');
  for (const { by, error } of takeUncaught())
    if (!told.has(error)) fail(by?.file, `${by?.name ?? 'outside of every test'}: nothing caught`, error);
  void tell({ type: 'over' });
  setTimeout(() => void giveUp(), endMs).unref();
}

async function giveUp(): Promise<void> {
  const open = openNow();
  // node:test reports when nothing keeps the process any more.
  process.emit('beforeExit', 0);
  await Promise.race([reported, delay(1_000)]);
  await tell({ type: 'open', things: thingsOf(open), pids: open.flatMap(({ pid }) => pid ?? []) });
  process.exit(0);
}

/** One line for each test or suite that left something open. */
function thingsOf(open: readonly Open[]): { file: string; text: string }[] {
  const byTest = Map.groupBy(open, ({ by }) => (by ? `${pathOf(by.file)}: ${by.name}` : 'outside of every test'));
  const lines = [...byTest].map(([test, things]) => {
    const counted = [...Map.groupBy(things, ({ what }) => what)];
    const words = counted.map(([what, { length }]) => (length > 1 ? `${length} × ${what}` : what));
    return { file: pathOf(things[0]?.by?.file), text: `${test}: left open: ${words.join(', ')}` };
  });
  return lines.length > 0 ? lines : [{ file: '', text: `left open: ${process.getActiveResourcesInfo().join(', ')}` }];
}
