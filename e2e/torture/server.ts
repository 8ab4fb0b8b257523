import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataDir } from '../../apps/server/src/postgres/datadir.ts';
import { ensurePostgres, stopPostgres } from '../../apps/server/src/postgres/embedded.ts';
import { createTemplate } from '../../apps/server/src/testing.ts';

/** Starts a Postgres of its own, as `npm test` does, with the migrated template that test databases are cloned from. */
export async function openServer(): Promise<AsyncDisposable> {
  const temporary = mkdtempSync(join(tmpdir(), 'svc-torture-'));
  // Where this runs as root the database's user must enter it.
  chmodSync(temporary, 0o755);
  const dataDir = openDataDir({ dataDir: temporary, databaseUrl: undefined });
  const postgres = await ensurePostgres(dataDir);
  process.env['SVC_TEST_DATA_DIR'] = dataDir;
  await createTemplate();
  return {
    async [Symbol.asyncDispose]() {
      await stopPostgres(postgres);
      rmSync(temporary, { recursive: true, force: true });
    },
  };
}
