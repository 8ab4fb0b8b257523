import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config.ts';
import { listOperators } from '../features/accounts/index.ts';
import { deepLink, type NewNotice, notifyMany, resolveNotifications } from '../features/notifications/index.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { inTransaction } from '../kernel/db/db.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { startLoop } from '../kernel/work/loop.ts';
import { startApart } from './apart.ts';
import { backupConfig, placeTopic } from './place.ts';
import type { BackupSummary } from './format.ts';
import { installationOf } from './database.sql.ts';
import { type BackupRecord, chownOf, faultOf, readRecord, wantedTopic, writeRecord } from './record.ts';
import { keepRevocations } from './revocations.ts';
import { isOf, openStore, type Store } from './store.ts';

const lookEveryMs = 60_000;
/** A place that cannot take a backup is tried again after this. */
const againMs = 10 * 60_000;
const dayMs = 86_400_000;
/** Of notifications that a backup failed or is late. */
const lateCause = 'backup';
const skewMs = 5 * 60_000;

/** Whether a backup of this age is late: half of its time beyond when it was due. */
export const isLate = (ageMs: number, everySeconds: number): boolean => ageMs > everySeconds * 1_500;

/** The backups of an installation. One of a time to come was named by a clock that was wrong, and is not counted. */
export const ownOf = <T extends { name: string; at: Date }>(
  kept: readonly T[],
  installation: string,
  now: number,
): T[] => kept.filter(isOf(installation)).filter(({ at }) => at.getTime() <= now + skewMs);

/**
 * Makes a backup whenever one is due (`SVC_BACKUP_DIR` or the place that an operator chose, `_EVERY`), keeps as many as asked for, and
 * tells the operators once a day while the newest is late. Of several processes one makes it: a backup has a lock. Answers how it
 * is ended.
 */
export async function startBackups(kernel: Kernel): Promise<() => Promise<void>> {
  const { place } = kernel.config.backup;
  if (place !== undefined && kernel.config.databaseUrl !== undefined)
    kernel.log.warn(
      'no backup is made in SVC_BACKUP_DIR: the database is a server of yours, back that up by its means',
    );
  if (kernel.config.databaseUrl !== undefined) return () => Promise.resolve();
  const keeper = new Keeper(kernel);
  kernel.metrics.gauge('svc_backup_age_seconds', 'Age of the newest backup, or of the platform without one', () =>
    Math.round(keeper.ageMs() / 1_000),
  );
  const loop = startLoop(kernel, { name: 'kernel.backups', everyMs: lookEveryMs, work: () => keeper.look() });
  const wake = (isWanted: boolean): void => {
    keeper.hurry(isWanted);
    loop.wake();
  };
  await kernel.bus.subscribe(wantedTopic, () => wake(true));
  await kernel.bus.subscribe(placeTopic, () => wake(false));
  loop.wake();
  return async () => {
    keeper.stop();
    await loop.stop();
  };
}

class Keeper {
  readonly #kernel: Kernel;
  /** Where backups go, as of the last look. */
  #at: { config: Config; place: string; store: Store; since: number } | undefined;
  #newestAt: number | undefined;
  #notBefore = 0;
  #revoked: string | undefined;
  /** An earlier process may have told that the backup is late. */
  #mayBeTold = true;
  #isWanted = false;
  #record: BackupRecord = {};
  #stop: () => void = () => {};

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Not a number without a place. */
  ageMs(): number {
    if (!this.#at) return Number.NaN;
    return Math.max(0, this.#kernel.clock.now() - (this.#newestAt ?? this.#at.since));
  }

  /** Looks again at once, whatever failed before; `isWanted`: and makes one, whether or not it is due. */
  hurry(isWanted: boolean): void {
    this.#notBefore = 0;
    this.#isWanted ||= isWanted;
  }

  /** Goes to the place that is set now; what is known of another one counts for nothing. */
  async #settle(): Promise<void> {
    const config = await backupConfig(this.#kernel);
    const { place } = config.backup;
    const isSame = place === this.#at?.place && isDeepStrictEqual(config.backup.s3, this.#at?.config.backup.s3);
    if (isSame) return;
    const now = this.#kernel.clock.now();
    this.#at = place === undefined ? undefined : { config, place, store: await openStore(place, config), since: now };
    this.#newestAt = undefined;
    this.#revoked = undefined;
    this.#record = {};
  }

  async look(): Promise<void> {
    const { clock, log, config } = this.#kernel;
    const isWanted = this.#isWanted;
    if (clock.now() < this.#notBefore && !isWanted) return;
    this.#isWanted = false;
    try {
      await this.#settle();
      if (!this.#at) return await this.#resolve();
      const [newest] = await this.#own();
      this.#newestAt = newest?.at.getTime();
      const isDue = newest === undefined || this.ageMs() >= config.backup.everySeconds * 1_000;
      if (isDue || isWanted) await this.#make();
      const { name, bytes, at } = (isDue || isWanted ? (await this.#own())[0] : newest) ?? {};
      await this.#note(
        name === undefined || at === undefined ? {} : { newest: { name, bytes: bytes ?? 0, at: at.toISOString() } },
      );
    } catch (error) {
      this.#notBefore = clock.now() + againMs;
      const reason = error instanceof CommandError ? error.message : error;
      log.error({ err: reason, again_ms: againMs }, 'no backup was made; it is tried again');
      await this.#fail(error).catch((err: unknown) => log.warn({ err }, 'nobody was told that no backup was made'));
    }
    await this.#keepRevocations().catch((err: unknown) =>
      log.error(
        { err },
        'the list of revoked keys beside the backups was not kept; a restore would have them valid again',
      ),
    );
    const isTooOld = isLate(this.ageMs(), config.backup.everySeconds);
    if (isTooOld) await this.#tell();
    else if (this.#newestAt !== undefined && this.#record.failed === undefined) await this.#resolve();
  }

  /** Those of this installation, the newest first. */
  async #own(): ReturnType<Store['list']> {
    return ownOf(
      (await this.#at?.store.list()) ?? [],
      await installationOf(this.#kernel.sql),
      this.#kernel.clock.now(),
    );
  }

  /** Keeps what pages and `svc doctor` show, where it is news. */
  async #note(noted: BackupRecord): Promise<void> {
    const record = { ...noted, ...(this.#at && { place: this.#at.place }) };
    if (JSON.stringify(record) === JSON.stringify(this.#record)) return;
    await writeRecord(this.#kernel.sql, record);
    this.#record = record;
  }

  /** The first failure is told at once; later ones are the same one. */
  async #fail(error: unknown): Promise<void> {
    const { sql, clock } = this.#kernel;
    const place = this.#at?.place;
    const { newest, failed: before } = await readRecord(sql, place);
    const now = new Date(clock.now()).toISOString();
    const { kind, ...fault } = faultOf(error, place ?? '');
    const failed = { since: before?.since ?? now, ...fault };
    await this.#note({ ...(newest && { newest }), failed });
    this.#mayBeTold = true;
    if (before) return;
    await this.#tellOperators({
      dedupeKey: `backup.failed:${failed.since}`,
      type: 'backup.failed',
      says: ({ backups: words }) => ({
        title: words.failed,
        body: `${failed.reason}. ${words.fixes[kind](chownOf(place ?? ''))}`,
      }),
      severity: 'critical',
    });
  }

  async #make(): Promise<void> {
    const { clock, config, log } = this.#kernel;
    const begun = clock.monotonic();
    await this.#note({
      ...(await readRecord(this.#kernel.sql, this.#at?.place)),
      begun_at: new Date(clock.now()).toISOString(),
    });
    const { file, bytes, left_out } = await this.#makeApart();
    this.#newestAt = clock.now();
    log.info({ file, bytes, ms: Math.round(clock.monotonic() - begun) }, 'a backup was made');
    if (left_out) log.warn({ file, left_out }, 'sandboxes are not in the backup');
    const old = (await this.#own()).slice(config.backup.keep);
    for (const { name } of old) await this.#at?.store.remove(name);
  }

  /** What was told of a late backup is over, whoever made the newest one. */
  async #resolve(): Promise<void> {
    if (!this.#mayBeTold) return;
    await inTransaction(this.#kernel.sql, async (db) => {
      const ends = (await listOperators(db)).map(
        (accountId) => ({ accountId, cause: lateCause, resolution: 'recovered' }) as const,
      );
      await resolveNotifications(this.#kernel, db, ends);
    });
    this.#mayBeTold = false;
  }

  /** Reading it to its end takes a second of this thread for each 300 MB: another process does it all. */
  async #makeApart(): Promise<BackupSummary> {
    const { config, place } = this.#at ?? { config: this.#kernel.config, place: '' };
    const command = startApart(config, ['--json', 'backup', 'create', '--apart', '--to', place]);
    this.#stop = () => command.stop();
    const said = await text(command.output);
    await command.ended;
    return JSON.parse(said) as BackupSummary;
  }

  /** Ends a backup that is under way. */
  stop(): void {
    this.#stop();
  }

  async #keepRevocations(): Promise<void> {
    const { sql } = this.#kernel;
    if (!this.#at) return;
    this.#revoked = await keepRevocations(sql, this.#at.store, await installationOf(this.#kernel.sql), this.#revoked);
  }

  async #tell(): Promise<void> {
    const age = `${Math.floor(this.ageMs() / 3_600_000)} h`;
    const day = Math.floor(this.#kernel.clock.now() / dayMs);
    await this.#tellOperators({
      dedupeKey: `backup.late:${day}`,
      type: 'backup.late',
      says: ({ backups: words }) => ({ title: words.late, body: words.lateText(age) }),
      severity: 'warning',
    });
  }

  async #tellOperators(told: Omit<NewNotice, 'accountId'>): Promise<void> {
    this.#mayBeTold = true;
    await inTransaction(this.#kernel.sql, async (db) => {
      const url = deepLink(this.#kernel.config, 'system');
      const all = (await listOperators(db)).map((accountId) => ({ accountId, url, cause: lateCause, ...told }));
      await notifyMany(this.#kernel, db, all);
    });
  }
}
