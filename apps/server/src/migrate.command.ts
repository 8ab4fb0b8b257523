import type { Config } from './config.ts';
import { borrowTarget } from './database.ts';
import { missingOf } from './kernel/db/applied.ts';
import { openDatabase } from './kernel/db/db.ts';
import { printable, printableLines } from './kernel/base/text.ts';
import { rehearse, type Rehearsed } from './kernel/db/rehearse.ts';
import { findDataDir } from './postgres/datadir.ts';
import { prepareDatabase } from './resources.ts';
import { becomePlatform } from './root/user.ts';

/** The ways of `svc migrate`: without one it applies what is missing. */
export interface MigrateOptions {
  /** Says what is missing, and changes nothing. */
  check?: boolean;
  /** Says what would be run, and runs it in a transaction that is rolled back. */
  dryRun?: boolean;
}

/** What `svc migrate` did, or found. */
interface Migrated {
  applied?: string[];
  missing?: string[];
  rehearsed?: Rehearsed[];
}

/**
 * Applies the migrations of this version that the database lacks, while another release may run on it; `say` gets a sentence for
 * whom it waits. Throws `CommandError` when the database has been used by a newer version, and changes nothing then. An embedded
 * database that does not run is started for the time that it takes.
 */
export async function migrateCommand(
  config: Config,
  { check = false, dryRun = false }: MigrateOptions,
  say: (what: string) => void,
): Promise<Migrated> {
  const dataDir = findDataDir(config);
  becomePlatform(dataDir);
  await using opening = new AsyncDisposableStack();
  const { target, close } = await borrowTarget(config, dataDir);
  opening.defer(close);
  if (!check && !dryRun) return { applied: await prepareDatabase(target, say) };
  const sql = opening.adopt(openDatabase(target, 2), (pool) => pool.end({ timeout: 2 }));
  const missing = await missingOf(sql);
  return dryRun ? { rehearsed: await rehearse(sql, missing) } : { missing: missing.map(({ name }) => name) };
}

/** What people are shown of it. */
export function migratedText({ applied, missing, rehearsed = [] }: Migrated): string {
  const tried = rehearsed.map(
    ({ name, outcome, sql }) => `-- ${name}: ${printable(outcome)}\n${printableLines(sql.trim())}\n`,
  );
  const named = (applied ?? missing ?? []).map((name) => `${applied ? 'applied' : 'missing'}  ${name}`);
  return [...tried, ...named].join('\n') || none;
}

const none = 'the database has every migration of this version';
