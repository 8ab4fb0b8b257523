import { isLate, ownOf } from './backup/keeper.ts';
import { openStore } from './backup/store.ts';
import { readPlace } from './backup/place.ts';
import { type BackupRecord, readRecord } from './backup/record.ts';
import type { Config } from './config.ts';
import type { Check } from './doctor.check.ts';
import type { Db } from './kernel/db/db.ts';

const name = 'backups';
/** `undefined_table` of Postgres; of a missing schema too. */
const missingTable = '42P01';
const ignored = 'none is made in SVC_BACKUP_DIR: the database is a server of yours (SVC_DATABASE_URL)';
const none =
  'the platform makes none; choose a place in the hub (System), set SVC_BACKUP_DIR, or run ./svc backup create FILE';

/** How old the newest backup of this installation is, where the platform makes them by itself. */
export async function backups(config: Config, installation: string, parts: { db: Db }): Promise<Check> {
  const { everySeconds, passphrase } = config.backup;
  if (config.databaseUrl !== undefined && config.backup.place !== undefined)
    return {
      name,
      ok: false,
      found: ignored,
      fix: 'back that server up by its own means, and take SVC_BACKUP_DIR out',
    };
  if (config.databaseUrl !== undefined)
    return { name, ok: true, found: 'the database is a server of yours, which has means of its own' };
  const chosen = await readPlace(parts.db, config).catch((error: Error & { code?: string }) =>
    // Without the schema there is no fact either.
    error.code === missingTable ? undefined : error,
  );
  if (chosen instanceof Error)
    return { name, ok: false, found: chosen.message, fix: 'see the log of the database, and ask again' };
  if (chosen === undefined) return { name, ok: true, found: none };
  const { place } = chosen;
  try {
    const record = await readRecord(parts.db, place);
    // At the first failure: an older one that is not late yet says nothing of the next.
    if (record.failed) return { name, ok: false, found: record.failed.reason, fix: record.failed.fix };
    const at = chosen.setBy === 'hub' ? ofRecord(record) : await newestAt(place, config, installation);
    if (at === undefined)
      return { name, ok: false, found: `none in ${place}`, fix: 'start the platform, or see its log' };
    const ageMs = Date.now() - at;
    const secrets = passphrase === undefined ? ', without secrets: set SVC_BACKUP_PASSPHRASE' : '';
    const found = `the newest in ${place} is ${Math.floor(ageMs / 3_600_000)} h old${secrets}`;
    const ok = !isLate(ageMs, everySeconds);
    return { name, ok, found, ...(!ok && { fix: 'see the log of the platform, then ./svc backup create' }) };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { name, ok: false, found, fix: 'give the platform a place that it may write to (SVC_BACKUP_DIR)' };
  }
}

/** The keys of a bucket that an operator chose are the platform's: what it saw last counts. */
const ofRecord = ({ newest }: BackupRecord): number | undefined => newest && Date.parse(newest.at);

async function newestAt(place: string, config: Config, installation: string): Promise<number | undefined> {
  const [newest] = ownOf(await (await openStore(place, config)).list(), installation, Date.now());
  return newest?.at.getTime();
}
