import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePostgres, stopPostgres } from '../../apps/server/src/postgres/embedded.ts';
import { createTemplate, renameDatabase, testDatabase } from '../../apps/server/src/testing.ts';

/**
 * What a server need not do whose databases live for a minute: a tenth of its processor time, which is a fifth of
 * that of all tests. Platforms that tests start have servers of their own, with the settings of the product. `fsync`
 * stays on: doctor looks at it, and in memory it costs nothing.
 */
const throwaway = ['synchronous_commit = off', 'full_page_writes = off', 'autovacuum = off', ''];

/**
 * Makes the database server of a run, with the migrated template that tests clone; and a copy of its cluster, migrated
 * as a platform leaves it, which `e2e/platform.ts` lays where a first start would make one: that takes 2 s of processor
 * time.
 */
export async function openCluster(dataDir: string, prepared: string) {
  const first = await ensurePostgres(dataDir);
  process.env['SVC_TEST_DATA_DIR'] = dataDir;
  await createTemplate();
  await renameDatabase('svc_template', 'svc');
  await stopPostgres(first);
  mkdirSync(prepared, { mode: 0o711 });
  const { status } = spawnSync('cp', ['-a', join(dataDir, 'postgres'), prepared], { stdio: 'ignore' });
  if (status === 0) process.env['SVC_TEST_CLUSTER'] = prepared;
  else rmSync(prepared, { recursive: true, force: true });
  appendFileSync(join(dataDir, 'postgres/postgresql.auto.conf'), throwaway.join('\n'));
  const postgres = await ensurePostgres(dataDir);
  await renameDatabase('svc', 'svc_template');
  return postgres;
}

/** Milliseconds that a database of a test's own takes here. */
export async function timeDatabase(): Promise<number> {
  const begun = performance.now();
  await (await testDatabase()).drop();
  return Math.round(performance.now() - begun);
}
