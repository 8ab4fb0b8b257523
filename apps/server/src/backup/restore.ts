import { existsSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLock } from '@svc/process-lock';
import { settingsFileName } from '../config.file.ts';
import type { Config, Given } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { instantOf } from '../kernel/db/instant.ts';
import { migrationNames } from '../kernel/db/applied.ts';
import { masterKeyFile } from '../master-key.ts';
import { embeddedMajor } from '../postgres/binaries.ts';
import { findDataDir, openDataDir } from '../postgres/datadir.ts';
import { openBlobs } from '../resources.ts';
import { findRunningProcesses } from '../running.ts';
import { type BackupManifest, leftOut } from './format.ts';
import { openSealed, type VerifiedBackup, verifyBackup } from './reader.ts';
import { readRevocations } from './revocations.ts';
import { type Revived, revive } from './revive.ts';
import { blobSettingsOf, settingsHere } from './settings.ts';
import { beginStaging, completeStaging, dropStaging, requireEmpty } from './staging.ts';
import type { Store } from './store.ts';
import { unpack } from './unpack.ts';

/** Room that a restore leaves of the disk, beyond what it writes. */
const spareBytes = 256 * 1024 ** 2;
const damagedMs = 5_000;

/** What a restore tells. */
interface Restored extends Revived {
  data_dir: string;
  backup_of: string;
  files: number;
  /** Settings that name a file which is not on this machine; they became comments of settings.env. */
  missing?: string[];
  /** Said of a file without a seal: its maker may be anybody. */
  unsealed?: string;
  /** Settings of such a file that became comments of settings.env: they could name a path, an address or a command. */
  settings_left_out?: string[];
  /** Sandboxes that the backup does not have. */
  left_out?: string[];
}

/**
 * Puts a backup into an empty data dir. All of it is read and compared before anything is written, and nothing but one folder
 * is there until all of it is: killed at any point, the dir is as empty as before for a start, or whole.
 */
export async function restoreBackup(configOf: (kept: Given) => Config, store: Store, name: string): Promise<Restored> {
  const config = configOf({});
  if (config.databaseUrl !== undefined)
    throw new CommandError('SVC_DATABASE_URL is set: a backup has the embedded database; restore it without that');
  const dataDir = findDataDir(config);
  if (findRunningProcesses(dataDir).length > 0)
    throw new CommandError(`the platform runs on ${dataDir}; stop it first`);
  requireEmpty(dataDir);
  const verified = await verifyBackup(await store.open(name), config.backup.passphrase);
  requireFit(verified);
  const masterKey = masterKeyOf(config, verified);
  // As a start makes it: below a folder that others cannot enter the cluster would be put elsewhere.
  openDataDir({ dataDir, databaseUrl: undefined });
  const lockFile = join(dataDir, 'restore.lock');
  const { lock, holder } = await takeLock(lockFile, damagedMs);
  if (!lock) throw new CommandError(`another restore into ${dataDir} is under way (pid ${holder ?? 'unknown'})`);
  try {
    return await work();
  } finally {
    lock.release();
  }

  async function work(): Promise<Restored> {
    // Another one may have come this far meanwhile.
    requireEmpty(dataDir);
    requireRoom(dataDir, verified.manifest);
    const staging = await beginStaging(dataDir);
    try {
      const blobs = await openBlobs(configOf(blobSettingsOf(verified)), staging);
      await unpack(staging, await store.open(name), verified, blobs);
      writeSecret(join(staging, masterKeyFile), masterKey);
      const isSealed = verified.header.seal !== null;
      const { missing, unproven } = placeSettings(staging, isSealed);
      const { created_at, installation } = verified.header;
      const revocations = await readRevocations(store, installation);
      const at = instantOf(Date.parse(created_at));
      const revived = await revive(staging, { masterKey, backedUpAt: at, revocations });
      completeStaging(dataDir);
      return {
        data_dir: dataDir,
        backup_of: created_at,
        files: verified.manifest.entries.length,
        ...(missing.length > 0 && { missing }),
        ...(!isSealed && { unsealed: whoMadeThis, ...(unproven.length > 0 && { settings_left_out: unproven }) }),
        ...leftOut(verified.manifest),
        ...revived,
      };
    } catch (error) {
      await dropStaging(dataDir);
      throw error;
    }
  }
}

/** In the data dir whatever kept it before: a start looks there. */
const writeSecret = (path: string, text: string): void =>
  writeFileSync(path, `${text}\n`, { mode: 0o600, flush: true });

/** Throws `CommandError` for a backup that this build or this machine cannot run. */
function requireFit({ header: { postgres, migration, svc } }: VerifiedBackup): void {
  const here = { major: embeddedMajor(), platform: process.platform, arch: process.arch };
  if (postgres.platform !== here.platform || postgres.arch !== here.arch) {
    const theirs = `${postgres.platform}-${postgres.arch}`;
    throw new CommandError(
      `the file was made on ${theirs}, this machine is ${here.platform}-${here.arch}: its database only runs there`,
    );
  }
  if (!migrationNames().includes(migration))
    throw new CommandError(
      `the file was made by a newer version of svc (${svc}, ${migration}): restore it with that version`,
    );
  if (postgres.major !== here.major)
    throw new CommandError(
      `the file has a database of Postgres ${postgres.major}, this version of svc runs ${here.major}: restore it with the version that made it (${svc})`,
    );
}

/** The master key: sealed in the file, or a setting. Throws `CommandError` when neither has it. */
function masterKeyOf(config: Config, verified: VerifiedBackup): string {
  const key = openSealed(verified, masterKeyFile)?.toString().trim() ?? config.masterKey;
  if (key !== undefined) return key;
  throw new CommandError(
    verified.header.seal
      ? 'the file is sealed: set SVC_BACKUP_PASSPHRASE (or _FILE) to the passphrase that it was made with'
      : 'the master key was left out of the file: set SVC_MASTER_KEY_FILE to its copy',
  );
}

/** Makes the settings those of this machine; answers the names of those that became comments. */
function placeSettings(staging: string, isSealed: boolean): { missing: string[]; unproven: string[] } {
  const file = join(staging, settingsFileName);
  if (!existsSync(file)) return { missing: [], unproven: [] };
  const { text, ...left } = settingsHere(readFileSync(file, 'utf8'), isSealed);
  writeFileSync(file, text, { mode: 0o600, flush: true });
  return left;
}

const whoMadeThis =
  'nothing proves who made this file, as it has no seal: whoever did has made all that is in the database, keys of theirs included';

function requireRoom(dataDir: string, { entries }: BackupManifest): void {
  const wanted = entries.reduce((sum, [, bytes]) => sum + bytes + 4_096, 0) + spareBytes;
  const { bavail, bsize } = statfsSync(dataDir);
  if (bavail * bsize < wanted)
    throw new CommandError(
      `${dataDir} has ${mib(bavail * bsize)} free, the backup needs ${mib(wanted)}; nothing was written`,
    );
}

const mib = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`;
