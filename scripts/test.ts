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
 * The test suite: three lanes, one database server, every `*.test.ts` of the repository or the files given. Ends with
 * what this machine could not run, and a line that counts.
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

/** Runs some of the files: in this process, where a file costs nothing to start, or each in one of its own. */
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

/** What mostly waits, for a lease or a lifetime of a minute: beside all others it costs nothing. */
const waits = files.filter((file) => /^e2e\/(?:scheduler|sandboxes)\.test/.test(file));
const apart = files.filter((file) => /^e2e\/|sandboxd\/src\/sandboxes\//.test(file) && !waits.includes(file));
const here = files.filter((file) => !apart.includes(file) && !waits.includes(file));

/** Keeps the report of other processes until the first one's is out. */
const keptReport = () => new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
const others = [apart, waits].map((names) => {
  const report = keptReport();
  return { report, done: runFiles(names, 'process', report) };
});
await runFiles(here, 'none', process.stdout);
for (const { report, done } of others) {
  report.pipe(process.stdout, { end: false });
  await done;
}
if (node && 'close' in node) await node.close();
await stopPostgres(postgres);
rmSync(dataDir, { recursive: true, force: true });

for (const line of skips) console.log(`not run here: ${line}`);
for (const line of missing) console.log(`missing here: ${line}`);
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
