import { sealedBackupSecret } from './backup/place.ts';
import { sealedRecords, sealedSigningKeys, sealedTokenAnswers } from './features/auth/index.ts';
import { readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { borrowTarget } from './database.ts';
import { sealedDataKeys } from './features/environments/index.ts';
import { sealedFrames, sealedInvites } from './features/hosts/index.ts';
import { sealedVapid, sealedWebhook } from './features/notifications/index.ts';
import { sealedRunHeaders } from './features/scheduler/index.ts';
import { sealedScheduleHeaders } from './features/schedules/index.ts';
import { byCommand, writeAct } from './kernel/records/audit.ts';
import { CommandError } from './kernel/base/command-error.ts';
import { BrokenSeal, createKeyring, type Keyring, type Sealed } from './kernel/base/crypto.ts';
import { type Db, inTransaction, openDatabase, type Sql } from './kernel/db/db.ts';
import { readFact, readOrCreateFact, writeFact } from './kernel/db/facts.ts';
import { requireSchema } from './kernel/db/applied.ts';
import { sealedAnswers } from './kernel/mount/idempotency.ts';
import { liveGateways } from './kernel/peers/gateways.ts';
import { becomePlatform } from './root/user.ts';
import { findDataDir, readOrCreateSecret, readSecret, syncFolder } from './postgres/datadir.ts';

/** Where the master key is kept that no setting names; while it is rotated, the next one. */
export const masterKeyFile = 'master.key';
const nextKeyFile = 'master.key.next';

/** Recognises the master key of a database, and tells nothing of it. */
const markFact = 'master_key';
const markOf = (masterKey: string): Buffer => createKeyring(masterKey).mac('master-key-check', 'svc');
/** The master key before all rotations, sealed with the present one; unset before the first rotation. */
const firstKeyFact = 'first_master_key';
const sealedFirstKey = { purpose: 'first-master-key' };

/** Every kind of sealed value: a rotation loses the kinds that are missing here. */
export const allSealed: readonly Sealed[] = [
  sealedAnswers,
  sealedVapid,
  sealedBackupSecret,
  sealedWebhook,
  sealedScheduleHeaders,
  sealedRunHeaders,
  sealedFrames,
  sealedInvites,
  sealedDataKeys,
  sealedRecords,
  sealedSigningKeys,
  sealedTokenAnswers,
];

/**
 * The keyring of a database's master key. Throws when the database was set up with another one: keys and secrets are
 * worthless then, and a mix-up is told at the start, not at the first 401. With `isFirst` a new database takes the key.
 */
export async function openKeyring(
  sql: Sql,
  masterKey: string,
  { dataDir, isFirst = false }: { dataDir: string; isFirst?: boolean },
): Promise<Keyring> {
  const mark = markOf(masterKey);
  const known = isFirst ? await readOrCreateFact(sql, markFact, () => mark) : await readFact(sql, markFact);
  if (known !== undefined && !known.equals(mark)) throw new CommandError(otherKey(known, dataDir));
  return createKeyring(masterKey, await firstKeyOf(sql, masterKey));
}

/** The master key of a database, as a setting or the data dir has it; throws when there is none, or another one. */
export async function requireMasterKey(sql: Sql, config: Config, dataDir: string): Promise<string> {
  const masterKey = config.masterKey ?? readSecret(join(dataDir, masterKeyFile));
  if (masterKey === undefined)
    throw new CommandError(`there is no master key in ${dataDir} and none in SVC_MASTER_KEY`);
  await openKeyring(sql, masterKey, { dataDir });
  return masterKey;
}

/**
 * Why a process that holds `masterKey` must not go on: the key was rotated while it was frozen, or cut off from its
 * database. Undefined when the key is still the one of the database.
 */
export async function reasonToEnd(sql: Sql, masterKey: string): Promise<string | undefined> {
  const known = await readFact(sql, markFact);
  if (known === undefined || known.equals(markOf(masterKey))) return undefined;
  return 'the master key was rotated while this process was frozen or cut off, and it has the old one; start it again';
}

async function firstKeyOf(db: Db, masterKey: string): Promise<string> {
  const sealed = await readFact(db, firstKeyFact);
  return sealed ? createKeyring(masterKey).open(sealedFirstKey, sealed).toString() : masterKey;
}

function otherKey(known: Buffer, dataDir: string): string {
  const next = readSecret(join(dataDir, nextKeyFile));
  if (next !== undefined && markOf(next).equals(known)) {
    return 'a rotation of the master key was interrupted; finish it: ./svc rotate-master-key';
  }
  return 'SVC_MASTER_KEY: the database was set up with another master key; set the one in the first data dir (master.key)';
}

/** The result of a rotation. */
interface Rotation {
  /** Values that were sealed anew. */
  sealed: number;
  /** Values that could not be opened, where `skipBroken` was asked for; they stay as they are. */
  skipped?: string[];
  /** Where the new key is. */
  master_key: string;
  next: string;
}

const lockNotAvailable = '55P03';
const heldMessage =
  'somebody holds rows of this database and does not go on, such as a part of the platform that was frozen while it wrote: ' +
  'end it (kill -9), then run this again; nothing was changed';

/**
 * Seals everything with a new master key, in one transaction, and puts the key in place: the one in `newKeyFile`, or a
 * generated one. Needs the platform stopped. Killed at any point it is finished by running it again. A value that cannot be
 * opened fails it and is named, unless `skipBroken`. Whoever holds a row for longer than `lockMs` fails it too.
 */
export async function rotateMasterKey(
  config: Config,
  newKeyFile: string | undefined,
  { skipBroken = false, lockMs = 30_000 }: { skipBroken?: boolean; lockMs?: number } = {},
): Promise<Rotation> {
  const dataDir = findDataDir(config);
  const isSetting = config.masterKey !== undefined;
  if (isSetting && newKeyFile === undefined) {
    throw new CommandError(
      'the master key is a setting here: write the new one to a file and give --new-key-file <path>',
    );
  }
  const given = newKeyFile === undefined ? undefined : readNewKey(newKeyFile);
  becomePlatform(dataDir);
  await using opening = new AsyncDisposableStack();
  const { target, close } = await borrowTarget(config, dataDir);
  opening.defer(close);
  const sql = opening.adopt(openDatabase(target, 1), (pool) => pool.end({ timeout: 2 }));
  await requireSchema(sql);
  const before = config.masterKey ?? readSecret(join(dataDir, masterKeyFile));
  if (before === undefined) throw new CommandError(`there is no master key in ${dataDir} and none in SVC_MASTER_KEY`);
  // Before anything is written: a refusal leaves nothing.
  await refuseRunning(sql);
  const next = join(dataDir, nextKeyFile);
  const after = isSetting && given !== undefined ? given : readOrCreateSecret(next, given);
  if (given !== undefined && after !== given) {
    // Once everything is sealed with it, the file holds the only key there is.
    const isSealed = (await readFact(sql, markFact))?.equals(markOf(after)) ?? false;
    const other = isSealed ? `; never remove ${next}: everything is sealed with it` : `, or remove ${next}`;
    throw new CommandError(`a rotation to another key was begun; finish it without --new-key-file${other}`);
  }
  if (after === before) throw new CommandError('the new master key is the one in use');
  const { count: sealed, broken } = await inTransaction(sql, async (db) => {
    await db.unsafe(`set local lock_timeout = ${lockMs}`);
    return reseal(db, { before, after, dataDir, skipBroken });
  }).catch((error: unknown) => {
    throw (error as { code?: unknown }).code === lockNotAvailable ? new CommandError(heldMessage) : error;
  });
  const skipped = broken.length > 0 && { skipped: broken };
  if (isSetting) {
    const next = 'set SVC_MASTER_KEY (or the file it is read from) to the new key, then start the platform';
    return { sealed, ...skipped, master_key: newKeyFile as string, next };
  }
  const file = join(dataDir, masterKeyFile);
  // By a rename: the file holds the one key or the other.
  renameSync(next, file);
  syncFolder(dataDir);
  return {
    sealed,
    ...skipped,
    master_key: file,
    next: `keep a copy of ${file} apart from the database's, then start the platform`,
  };
}

function readNewKey(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() && (found.mode & 0o077) !== 0)
    throw new CommandError(`other users can read ${file}: chmod 600 it`);
  const key = found?.isFile() ? readFileSync(file, 'utf8').trim() : '';
  if (key.length < 32) throw new CommandError(`${file} must hold the new master key, 32 characters or more`);
  return key;
}

async function refuseRunning(db: Db): Promise<void> {
  if ((await liveGateways(db)).length === 0) return;
  throw new CommandError(
    'the platform runs on this database: stop every part of it, then run this again (a part that was killed counts for 20 s)',
  );
}

/** The result of sealing anew: how many values were sealed, and which could not be opened. */
interface Resealed {
  count: number;
  broken: string[];
}

/** Seals everything anew; nothing when an earlier run had done all of it. */
async function reseal(
  db: Db,
  { before, after, dataDir, skipBroken }: { before: string; after: string; dataDir: string; skipBroken: boolean },
): Promise<Resealed> {
  // A gateway that starts waits here, and then fails: it has read the key before.
  await db`lock table kernel.gateways in share row exclusive mode`;
  await refuseRunning(db);
  const known = await readFact(db, markFact);
  if (known?.equals(markOf(after))) return { count: 0, broken: [] };
  if (known && !known.equals(markOf(before))) throw new CommandError(otherKey(known, dataDir));
  const [from, to] = [createKeyring(before), createKeyring(after)];
  let count = 0;
  const broken: string[] = [];
  for (const each of allSealed) {
    const done = await resealColumn(db, each, from, to);
    count += done.count;
    broken.push(...done.broken);
  }
  if (broken.length > 0 && !skipBroken) throw new CommandError(cannotOpen(broken));
  await writeFact(db, firstKeyFact, to.seal(sealedFirstKey, Buffer.from(await firstKeyOf(db, before))));
  await writeFact(db, markFact, markOf(after));
  await writeAct(db, {
    accountId: null,
    by: byCommand,
    action: 'platform.rotateMasterKey',
    details: { sealed: count, ...(broken.length > 0 && { skipped: broken.slice(0, mostNamed) }) },
  });
  return { count, broken };
}

/** As many are named in a message. */
const mostNamed = 20;

function cannotOpen(broken: readonly string[]): string {
  const more = broken.length > mostNamed ? ` and ${broken.length - mostNamed} more` : '';
  return (
    `cannot be opened with the master key of now, so nothing was changed: ${broken.slice(0, mostNamed).join(', ')}${more}. ` +
    'Restore them from a backup, or give --skip-broken: what is in them is lost'
  );
}

const batch = 500;

async function resealColumn(db: Db, each: Sealed, from: Keyring, to: Keyring): Promise<Resealed> {
  const [table, column] = [db(each.table), db(each.column)];
  const rows = await db<{ at: string }[]>`
    select ctid::text as at from ${table} where ${column} is not null and ${db.unsafe(each.where ?? 'true')}`;
  const broken: string[] = [];
  for (let first = 0; first < rows.length; first += batch) {
    const places = rows.slice(first, first + batch).map(({ at }) => at);
    const values = await db<{ at: string; sealed: Buffer }[]>`
      select ctid::text as at, ${column} as sealed from ${table} where ctid = any(${places}::text[]::tid[])`;
    const opened = values.map(({ at, sealed }) => ({ at, plain: openedOf(from, each, sealed) }));
    const anew = opened.flatMap(({ at, plain }) =>
      plain ? [{ at, sealed: to.seal(each, plain).toString('hex') }] : [],
    );
    const unread = opened.filter(({ plain }) => !plain).map(({ at }) => at);
    if (unread.length > 0) broken.push(...(await namesOf(db, each.table, unread)));
    await db`
      update ${table} as t set ${column} = decode(v.sealed, 'hex')
      from unnest(${anew.map(({ at }) => at)}::text[], ${anew.map(({ sealed }) => sealed)}::text[]) as v(at, sealed)
      where t.ctid = v.at::tid`;
  }
  return { count: rows.length - broken.length, broken };
}

/** Undefined for a value that cannot be opened. */
function openedOf(keyring: Keyring, each: Sealed, sealed: Buffer): Buffer | undefined {
  try {
    return keyring.open(each, sealed);
  } catch (error) {
    if (error instanceof BrokenSeal) return undefined;
    throw error;
  }
}

/** Rows by table and primary key: `notifications.webhooks (id 0198…)`. */
async function namesOf(db: Db, table: string, places: readonly string[]): Promise<string[]> {
  const keys = await db<{ name: string }[]>`
    select a.attname as name from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = ${table}::regclass and i.indisprimary order by array_position(i.indkey, a.attnum)`;
  const rows = await db<Record<string, unknown>[]>`
    select ${db(keys.map(({ name }) => name))} from ${db(table)} where ctid = any(${[...places]}::text[]::tid[])`;
  return rows.map((row) => `${table} (${keys.map(({ name }) => `${name} ${String(row[name])}`).join(', ')})`);
}
