import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { openDataDir } from '../apps/server/src/kernel/datadir.ts';
import { ensurePostgres, stopPostgres } from '../apps/server/src/kernel/embedded.ts';
import { installSystemPackages } from './system-packages.ts';
import { startTestNode } from './test-node.ts';

/**
 * The test suite: every `*.test.ts` of the repository, or the files given, in three lanes beside each other, on one
 * database server. Ends with what this machine could not run, and a line that counts.
 */
const root = resolve(import.meta.dirname, '..');
const slowestTestMs = 5 * 60_000;

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
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
  !process.argv.includes('--no-system-packages'),
);
const temporary = mkdtempSync(join(tmpdir(), 'svc-tests-'));
// A database in a folder that others cannot enter is placed elsewhere when this runs as root, and would stay there.
chmodSync(temporary, 0o755);
const dataDir = openDataDir(temporary, true);
const postgres = await ensurePostgres(dataDir);
process.env['SVC_TEST_DATA_DIR'] = dataDir;
const { createTemplate } = await import('../apps/server/src/testing.ts');
await createTemplate();
const needsNode = files.some((file) => /sandbox|workspaces|previews|e2e|scheduler/.test(file));
const node = needsNode ? await startTestNode(!process.argv.includes('--no-system-packages')) : undefined;
if (node && 'missing' in node) missing.push(node.missing);

const counts = { passed: 0, failed: 0, skipped: 0 };
const skips: string[] = [];

/** Runs some of the files, one after the other: in this process a file costs nothing to start. */
async function runFiles(names: readonly string[], isolation: 'none' | 'process', out: Writable): Promise<void> {
  if (names.length === 0) return;
  const paths = names.map((file) => join(root, file));
  const stream = run({
    files: paths,
    isolation,
    timeout: slowestTestMs,
    ...(isolation === 'process' && { concurrency: 1 }),
  });
  stream.on('test:pass', ({ name, skip, details, file }) => {
    if (details.type === 'suite') return;
    if (skip === undefined) counts.passed += 1;
    else {
      counts.skipped += 1;
      skips.push(`${relative(root, file ?? '')}: ${name}: ${String(skip)}`);
    }
  });
  stream.on('test:fail', ({ details }) => {
    // A suite fails with its tests, which are counted; on its own it fails by its hooks.
    const { failureType } = details.error as { failureType?: string };
    if (details.type !== 'suite' || failureType !== 'subtestsFailed') counts.failed += 1;
  });
  await pipeline(stream, new spec(), out, { end: false });
}

/** What sandboxes are, seen from within and from without. */
const isOfSandboxes = (file: string): boolean => /^(?:apps\/sandboxd\/|e2e\/(?:escapes|sandboxes))/.test(file);
const isEndToEnd = (file: string): boolean => file.startsWith('e2e/') && !isOfSandboxes(file);

/** Runs files in processes of their own, which mostly wait for others; their report is kept until it may be told. */
function runBesides(names: readonly string[]): { tell(): Promise<void> } {
  const kept = new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
  const done = runFiles(names, 'process', kept);
  return {
    async tell() {
      kept.pipe(process.stdout, { end: false });
      await done;
    },
  };
}

const besides = [runBesides(files.filter(isEndToEnd)), runBesides(files.filter(isOfSandboxes))];
await runFiles(
  files.filter((file) => !isEndToEnd(file) && !isOfSandboxes(file)),
  'none',
  process.stdout,
);
for (const lane of besides) await lane.tell();
if (node && 'close' in node) await node.close();
await stopPostgres(postgres);
rmSync(dataDir, { recursive: true, force: true });

for (const line of skips) console.log(`not run here: ${line}`);
for (const line of missing) console.log(`missing here: ${line}`);
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
