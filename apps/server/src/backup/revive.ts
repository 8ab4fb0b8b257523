import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { databaseName } from '../database.ts';
import { openDatabase } from '../kernel/db/db.ts';
import type { Instant } from '../kernel/db/instant.ts';
import type { Counts } from '../kernel/deletion.ts';
import { openKeyring } from '../master-key.ts';
import { ensurePostgres, stopPostgres } from '../postgres/embedded.ts';
import { prepareDatabase } from '../resources.ts';
import { countRows } from './database.sql.ts';
import { applyRevocations, type readRevocations } from './revocations.ts';
import { forgetHome } from '../home.ts';
import { settleDatabase } from './settle.ts';

/** What a database that was started from a backup has. */
export interface Revived {
  tables: number;
  rows: number;
  /** Migrations that this version added to it. */
  migrated: number;
  /** How much does not go on as it was, by what it is. */
  changed: Counts;
  /** Keys that were revoked after the backup and are so again; without a list what to look at. */
  keys: { revoked_again: string[] } | { next: string };
  /** Accounts that were deleted after the backup: they are suspended. Left out where there are none. */
  accounts?: { suspended: string[]; next: string };
}

interface Reviving {
  masterKey: string;
  backedUpAt: Instant;
  /** The list that was kept beside the backup. */
  revocations: Awaited<ReturnType<typeof readRevocations>>;
}

const allKeysLive = 'no list of revoked keys is beside the backup: those revoked since work again, see ./svc keys list';

const deletedSince =
  'they were deleted after the backup: svc accounts delete deletes them again, svc accounts resume keeps them';

/**
 * Starts the database of a restore by itself, which brings it to the instant of the backup, and makes it one that may go on:
 * what another process held then, nobody holds now. Every row is read, with its checksums. Throws when the master key is not
 * that of the database.
 */
export async function revive(staging: string, { masterKey, backedUpAt, revocations }: Reviving): Promise<Revived> {
  const embedded = await ensurePostgres(staging);
  try {
    const target = { embedded, database: databaseName };
    const sql = openDatabase(target, 1);
    try {
      await openKeyring(sql, masterKey, { dataDir: staging });
      const migrated = await prepareDatabase(target, () => {});
      const changed = await settleDatabase(sql, backedUpAt);
      await forgetHome(sql);
      const again = revocations && (await applyRevocations(sql, revocations, backedUpAt));
      const rows = await countRows(sql);
      return {
        changed,
        keys: again
          ? { revoked_again: again.keys.map(({ name, prefix }) => `${name} (${prefix}…)`) }
          : { next: allKeysLive },
        ...(again && again.emails.length > 0 && { accounts: { suspended: again.emails, next: deletedSince } }),
        tables: Object.keys(rows).length,
        rows: Object.values(rows).reduce((sum, count) => sum + count, 0),
        migrated: migrated.length,
      };
    } finally {
      await sql.end({ timeout: 2 });
    }
  } finally {
    await stopPostgres(embedded);
    for (const name of ['postgres.log', 'start.lock', 'run'])
      rmSync(join(staging, name), { recursive: true, force: true });
    rmSync(join(staging, 'postgres/backup_label.old'), { force: true });
  }
}
