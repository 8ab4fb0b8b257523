import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Config } from '../config.ts';
import { isSecret } from '../config.secrets.ts';
import { borrowTarget } from '../database.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { version } from '../kernel/base/version.ts';
import { openDatabase } from '../kernel/db/db.ts';
import { readOrCreateFact } from '../kernel/db/facts.ts';
import { missingOf } from '../kernel/db/applied.ts';
import { readIfThere } from '../postgres/lock.ts';
import type { Blobs } from '../kernel/outside/blobs.ts';
import { providersPath } from '../kernel/outside/providers.ts';
import { masterKeyFile, requireMasterKey } from '../master-key.ts';
import { openBlobs } from '../resources.ts';
import { sandboxdPlaces } from '../sandboxd.ts';
import { copyCluster } from './cluster.ts';
import { countRows, lastMigration, newInstallation, serverOf } from './database.sql.ts';
import { formatVersion, type Header, names, places, takenFiles } from './format.ts';
import { addSandboxes } from './sandboxes.ts';
import { newSeal, type Seal } from './seal.ts';
import { BackupWriter } from './writer.ts';

/** Files of the data dir that are in clear in a backup, and those that are in it only when they are sealed. */
const inClear = ['prices.json'];
const isSealed = /^(?:owner\.key|lane-.*\.key)$/;
const settingsFile = 'settings.env';

/**
 * Writes a backup of the platform to `target` while it runs. Throws `CommandError` where the database is not the embedded one:
 * its operator has means of its own for it.
 */
export async function makeBackup(
  config: Config,
  dataDir: string,
  target: Writable,
  passphrase: string | undefined,
): Promise<void> {
  if (config.databaseUrl !== undefined) throw new CommandError(ownDatabase);
  await using opening = new AsyncDisposableStack();
  const { target: database, close } = await borrowTarget(config, dataDir);
  opening.defer(close);
  const sql = opening.adopt(openDatabase(database, 2), (pool) => pool.end({ timeout: 2 }));
  // The code of the next release copies a database that is not migrated yet: that is when people want a backup.
  await missingOf(sql);
  // Wrong from here on, the copy would be worth nothing.
  const masterKey = await requireMasterKey(sql, config, dataDir);
  const seal = passphrase === undefined ? undefined : newSeal(passphrase);
  const now = new Date();
  const server = await serverOf(sql);
  const header: Header = {
    svc_backup: formatVersion,
    svc: version,
    created_at: now.toISOString(),
    installation: (await readOrCreateFact(sql, 'installation', newInstallation)).toString('hex'),
    migration: await lastMigration(sql),
    postgres: { major: server.major, platform: process.platform, arch: process.arch },
    seal: seal?.derivation ?? null,
  };
  const writer = new BackupWriter(target, now.getTime());
  await writer.bytes(names.header, Buffer.from(JSON.stringify(header)));
  await addFiles(writer, { config, dataDir }, masterKey, seal);
  const blobs = await openBlobs(config, dataDir);
  const copied = new Set<string>();
  await copyCluster(sql, realpathSync(server.directory), writer, () => addBlobs(writer, blobs, copied));
  // Those that came while the first were copied: the database knows them.
  await addBlobs(writer, blobs, copied);
  const rows = await countRows(sql);
  const { socket } = sandboxdPlaces(config, dataDir);
  // Those that ended long ago count too: better one word too many.
  const isExpected = (rows['sandboxes.sandboxes'] ?? 0) > 0;
  const sandboxes = await addSandboxes(writer, { socket, owner: header.installation, isExpected });
  await writer.close({ finished_at: new Date().toISOString(), rows, sandboxes }, seal);
}

const ownDatabase =
  'the database is a server of yours (SVC_DATABASE_URL): back it up by its own means (pg_basebackup, pg_dump, snapshots of its provider), and keep the master key, settings.env, the providers file and blobs beside it';

/** Settings, the providers file, keys. Without a passphrase what is secret stays out. */
async function addFiles(
  writer: BackupWriter,
  { config, dataDir }: { config: Config; dataDir: string },
  masterKey: string,
  seal: Seal | undefined,
): Promise<void> {
  const add = async (name: string, content: Buffer, isSecretFile: boolean): Promise<void> => {
    if (!isSecretFile) return writer.bytes(places.files + name, content);
    const path = places.sealed + name;
    if (seal) await writer.bytes(path, seal.seal(path, content));
  };
  await add(masterKeyFile, Buffer.from(`${masterKey}\n`), true);
  const settings = readIfThere(join(dataDir, settingsFile));
  if (settings !== undefined) {
    await add(settingsFile, Buffer.from(settings), true);
    if (!seal) await add(settingsFile, Buffer.from(withoutSecrets(settings)), false);
  }
  const providers = readIfThere(providersPath({ config, dataDir }));
  if (providers !== undefined) await add('providers.json', Buffer.from(providers), seal !== undefined);
  for (const name of readdirSync(dataDir).sort())
    if (takenFiles.test(name) && (inClear.includes(name) || isSealed.test(name))) {
      await add(name, readFileSync(join(dataDir, name)), isSealed.test(name));
    }
}

/** Lines of secrets become comments that say so. */
const withoutSecrets = (text: string): string =>
  text
    .split('\n')
    .map((line) => {
      const name = /^\s*(SVC_\w+)\s*=/.exec(line)?.[1];
      return name !== undefined && isSecret(name) ? `# ${name} was left out of the backup` : line;
    })
    .join('\n');

async function addBlobs(writer: BackupWriter, blobs: Blobs, copied: Set<string>): Promise<void> {
  for (const name of await blobs.list('')) {
    if (copied.has(name)) continue;
    const found = await blobs.get(name);
    // Deleted since it was listed: its row is gone.
    if (!found) continue;
    await writer.file(places.blobs + name, found.bytes, found.body as AsyncIterable<Buffer>);
    copied.add(name);
  }
}
