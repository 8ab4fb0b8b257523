import { isLate, ownOf } from './backup/keeper.ts';
import { openStore } from './backup/store.ts';
import type { BackupRecord } from './backup/record.ts';
import type { Config } from './config.ts';
import type { Check } from './doctor.check.ts';

const name = 'backups';
const ignored = 'none is made in SVC_BACKUP_DIR: the database is a server of yours (SVC_DATABASE_URL)';

/** How old the newest backup of this installation is, where the platform makes them by itself. */
export async function backups(config: Config, installation: string, { failed }: BackupRecord): Promise<Check> {
  const { place, everySeconds, passphrase } = config.backup;
  if (config.databaseUrl !== undefined && place !== undefined)
    return {
      name,
      ok: false,
      found: ignored,
      fix: 'back that server up by its own means, and take SVC_BACKUP_DIR out',
    };
  if (config.databaseUrl !== undefined)
    return { name, ok: true, found: 'the database is a server of yours, which has means of its own' };
  if (place === undefined)
    return { name, ok: true, found: 'the platform makes none; set SVC_BACKUP_DIR, or run ./svc backup create FILE' };
  try {
    // At the first failure: an older one that is not late yet says nothing of the next.
    if (failed) return { name, ok: false, found: failed.reason, fix: failed.fix };
    const [newest] = ownOf(await (await openStore(place, config)).list(), installation, Date.now());
    if (!newest) return { name, ok: false, found: `none in ${place}`, fix: 'start the platform, or see its log' };
    const ageMs = Date.now() - newest.at.getTime();
    const secrets = passphrase === undefined ? ', without secrets: set SVC_BACKUP_PASSPHRASE' : '';
    const found = `the newest in ${place} is ${Math.floor(ageMs / 3_600_000)} h old${secrets}`;
    const ok = !isLate(ageMs, everySeconds);
    return { name, ok, found, ...(!ok && { fix: 'see the log of the platform, then ./svc backup create' }) };
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return { name, ok: false, found, fix: 'give the platform a place that it may write to (SVC_BACKUP_DIR)' };
  }
}
