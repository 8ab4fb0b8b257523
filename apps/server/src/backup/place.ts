import { mkdir, realpath, rmdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import type { Config } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Sealed } from '../kernel/base/crypto.ts';
import type { Db } from '../kernel/db/db.ts';
import { readFact, removeFact, writeFact } from '../kernel/db/facts.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { openStore } from './store.ts';

const placeFact = 'backup_place';
const secretFact = 'backup_place_secret';
/** Bus topic: an operator chose another place. */
export const placeTopic = 'system.backup_place';
/** The secret key of a bucket that an operator chose. */
export const sealedBackupSecret: Sealed = {
  purpose: 'backup-place',
  table: 'kernel.facts',
  column: 'value',
  where: `name = '${secretFact}'`,
};
/** A place that does not answer is refused, as one that is not there is. */
const answerMs = 15_000;

/** How a bucket for backups is reached, where it is not as that of blobs is. */
export interface BackupAccess {
  endpoint?: string | undefined;
  region: string;
  accessKeyId?: string | undefined;
}

/** Where the platform puts backups by itself. */
interface BackupPlace {
  /** A folder or `s3://bucket/prefix`. */
  place: string;
  access?: BackupAccess;
}

/** Where backups go, and who says so: settings win over what an operator chose in the hub. */
export async function readPlace(
  db: Db,
  { backup }: Pick<Config, 'backup'>,
): Promise<(BackupPlace & { setBy: 'settings' | 'hub' }) | undefined> {
  if (backup.place !== undefined) return { place: backup.place, setBy: 'settings' };
  const chosen = await readFact(db, placeFact);
  return chosen && { ...(JSON.parse(chosen.toString()) as BackupPlace), setBy: 'hub' };
}

/** Keeps what an operator chose, the secret sealed; undefined: no place. */
export async function writePlace(
  db: Db,
  { keyring }: Pick<Kernel, 'keyring'>,
  chosen: (BackupPlace & { secretAccessKey?: string | undefined }) | undefined,
): Promise<void> {
  await removeFact(db, secretFact);
  if (!chosen) return void (await removeFact(db, placeFact));
  const { secretAccessKey, ...place } = chosen;
  await writeFact(db, placeFact, Buffer.from(JSON.stringify(place)));
  if (secretAccessKey === undefined) return;
  await writeFact(db, secretFact, keyring.seal(sealedBackupSecret, Buffer.from(secretAccessKey)));
}

/** The settings with this place, and how it is reached. */
export const configAt = (
  config: Config,
  { place, access }: BackupPlace,
  secretAccessKey: string | undefined,
): Config => ({
  ...config,
  backup: {
    ...config.backup,
    place,
    ...(access && {
      s3: { endpoint: access.endpoint, region: access.region, accessKeyId: access.accessKeyId, secretAccessKey },
    }),
  },
});

/** The settings as backups are made with; without a place where nobody said one. */
export async function backupConfig(kernel: Pick<Kernel, 'sql' | 'config' | 'keyring' | 'gateways'>): Promise<Config> {
  const { sql, config, keyring, gateways } = kernel;
  const chosen = await readPlace(sql, config);
  if (!chosen || chosen.setBy === 'settings') return config;
  const sealed = chosen.access && (await readFact(sql, secretFact));
  if (!sealed) return configAt(config, chosen, undefined);
  await gateways.prove();
  return configAt(config, chosen, keyring.open(sealedBackupSecret, sealed).toString());
}

/**
 * Tries a place as backups use it: a file is written, read, seen and removed. Throws `CommandError` for one that can take none, and
 * leaves nothing there. `config` has the place.
 */
export async function tryPlace(config: Config, dataDir: string): Promise<void> {
  const place = config.backup.place ?? '';
  const made = place.startsWith('s3://') ? undefined : await makeFolder(place, dataDir);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new CommandError(`${place} does not answer in ${answerMs / 1_000} s`)),
    answerMs,
  );
  try {
    await Promise.race([probe(config), late.promise]);
  } catch (error) {
    if (made !== undefined) await rmdir(made).catch(() => {});
    if (error instanceof CommandError && error.message.includes('EROFS')) throw readOnly(place);
    throw error instanceof CommandError ? error : new CommandError(`${place}: ${wordsOf(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

async function probe(config: Config): Promise<void> {
  const store = await openStore(config.backup.place ?? '', config);
  const [name, text] = [`svc-probe-${randomUUID()}`, 'svc tries whether backups can be kept here\n'];
  try {
    await store.replace(name, text);
    if ((await store.read(name)) !== text)
      throw new CommandError(`${config.backup.place} does not keep what is written`);
    await store.list();
  } finally {
    await store.remove(name).catch(() => {});
  }
  if ((await store.read(name)) !== undefined) throw new CommandError(`${config.backup.place} removes nothing`);
}

/** Makes the last folder of a path; answers it when it was not there. A disk that is not mounted is missed here, not at night. */
async function makeFolder(place: string, dataDir: string): Promise<string | undefined> {
  if (!isAbsolute(place)) throw new CommandError('must be a whole path such as /mnt/backup/svc, or s3://bucket/prefix');
  const above = await realpath(dirname(place)).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      error.code === 'ENOENT' ? `there is no folder ${dirname(place)}` : `${dirname(place)}: ${error.code}`,
    );
  });
  const folder = await realpath(place).catch(() => join(above, basename(place)));
  const data = await realpath(dataDir);
  // Whoever has the data in one too only tries things out.
  if ((await isTemporary(folder)) && !(await isTemporary(data)))
    throw new CommandError(`${place} is in a temporary folder, which is emptied: name another disk`);
  if (isWithin(folder, data))
    throw new CommandError(`${place} is in the data folder, and is lost with it: name another disk`);
  try {
    await mkdir(place, { mode: 0o700 });
    return place;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return undefined;
    if (code === 'EROFS') throw readOnly(place);
    // There is nothing to give to the user of the platform yet.
    if (code === 'EACCES' || code === 'EPERM')
      throw new CommandError(`${place}: this user may not make it; as root: ${installOf(place)}`);
    throw new CommandError(`${place}: this user may not (${code})`);
  }
}

const installOf = (place: string): string => `install -d -m 700 -o ${userInfo().username} ${place}`;

/** The unit of `deploy/systemd` lets the platform write in its own folder alone. */
const readOnly = (place: string): CommandError =>
  new CommandError(
    `${place} is read-only for the platform; where a systemd unit makes it so: ${installOf(place)}, then ` +
      `ReadWritePaths=${place} under [Service] (systemctl edit svc) and a restart; otherwise name another place`,
  );

/** Emptied at a start of the machine; a systemd unit with PrivateTmp has ones of its own, which end with it. */
const temporaryFolders = ['/tmp', '/var/tmp'];

async function isTemporary(path: string): Promise<boolean> {
  const folders = await Promise.all(temporaryFolders.map((one) => realpath(one).catch(() => one)));
  return folders.some((one) => isWithin(path, one));
}

const isWithin = (path: string, folder: string): boolean => {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split('/')[0] !== '..';
};

/** Why a bucket was not reached, without what else a server may have said. */
export function wordsOf(error: unknown): string {
  const {
    name = '',
    code,
    $metadata,
  } = error as { name?: string; code?: string; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return [code ?? name, ...(status === undefined ? [] : [String(status)])].join(' ');
}
