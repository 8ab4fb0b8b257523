import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePostgres, stopPostgres } from '../../apps/server/src/postgres/embedded.ts';
import { createTemplate, renameDatabase, testDatabase } from '../../apps/server/src/testing.ts';

/**
 * Makes the database server of a run, with the migrated template that tests clone; and a copy of its cluster,
 * migrated as a
 * platform leaves it, which `e2e/platform.ts` lays where a first start would make one: that takes 2 s of processor
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
