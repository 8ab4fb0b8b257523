import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { CommandError } from '../kernel/base/command-error.ts';
import type { Blobs } from '../kernel/outside/blobs.ts';
import { configureCluster, giveCluster, makeClusterPlace } from '../postgres/embedded.ts';
import { names, places } from './format.ts';
import { nodeIdName } from './sandboxes.ts';
import { checkName, entriesOf, openSealed, type VerifiedBackup } from './reader.ts';
import type { TarEntry } from './tar.ts';

/** What the node takes in when it starts, in its own folder. */
const restoredSandboxes = join('sandboxd', 'restored');

/**
 * Writes the entries of a backup to where they belong in the folder `staging`. Each is compared once more: the file may have
 * changed since it was verified.
 */
export async function unpack(staging: string, source: Readable, verified: VerifiedBackup, blobs: Blobs): Promise<void> {
  const cluster = makeClusterPlace(staging);
  const told = new Map(verified.manifest.entries.map(([name, , sha256]) => [name, sha256]));
  let read = 0;
  for await (const entry of entriesOf(source)) {
    read += 1;
    if (entry.name === names.header || entry.name === names.manifest || entry.name === names.seal) {
      for await (const part of entry.body) void part;
      continue;
    }
    if (!isWhole(entry.name, verified) || isConfiguration(entry.name)) {
      for await (const part of entry.body) void part;
      continue;
    }
    const place = placeOf(checkName(entry.name), staging, cluster);
    if (entry.name.endsWith('/')) {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      continue;
    }
    const hashed = hashing(entry);
    if (entry.name.startsWith(places.sealed)) {
      for await (const part of hashed.body) void part;
      const name = entry.name.slice(places.sealed.length);
      const plain = openSealed(verified, name);
      if (plain) writeFileSync(place, plain, { mode: 0o600, flush: true });
    } else if (entry.name.startsWith(places.blobs)) {
      await blobs.put(entry.name.slice(places.blobs.length), Readable.from(hashed.body, { objectMode: false }));
    } else await write(place, hashed.body, !entry.name.startsWith(places.cluster));
    if (hashed.sha256() !== told.get(entry.name)) throw changed();
  }
  // Manifest and seal are in no list.
  if (read !== verified.manifest.entries.length + 2) throw changed();
  await configureCluster(staging, cluster);
  await giveCluster(cluster);
}

/** What a cluster is made of (Postgres, "Database File Layout"): all else in its folder says how to run it. */
const ofCluster =
  /^(?:PG_VERSION|backup_label|base|global|pg_(?:commit_ts|dynshmem|logical|multixact|notify|replslot|serial|snapshots|stat|stat_tmp|subtrans|tblspc|twophase|wal|xact))$/;

/** True for what could run a command or let somebody in: the configuration of the server, and signals to it. */
function isConfiguration(name: string): boolean {
  return name.startsWith(places.cluster) && !ofCluster.test(name.slice(places.cluster.length).split('/')[0] ?? '');
}

const changed = (): CommandError => new CommandError('the file changed while it was read; nothing was kept of it');

/** False for pieces of a sandbox that broke off while it was copied. */
function isWhole(name: string, { manifest }: VerifiedBackup): boolean {
  if (!name.startsWith(places.sandboxes) || name === nodeIdName) return true;
  return manifest.sandboxes.kept.some(({ id }) => name.startsWith(`${places.sandboxes}${id}.tar.`));
}

function placeOf(name: string, staging: string, cluster: string): string {
  const rest = name.slice(name.indexOf('/') + 1);
  if (name.startsWith(places.cluster)) return join(cluster, rest);
  if (name.startsWith(places.sandboxes) || name.startsWith(places.images))
    return join(staging, restoredSandboxes, name);
  return join(staging, rest);
}

function hashing({ body }: TarEntry) {
  const hash = createHash('sha256');
  let done: string | undefined;
  return {
    body: (async function* () {
      for await (const part of body) {
        hash.update(part);
        yield part;
      }
    })(),
    sha256: (): string => (done ??= hash.digest('hex')),
  };
}

/** `sync`: the server brings its own files to disk when it starts. */
async function write(path: string, body: AsyncIterable<Buffer>, sync: boolean): Promise<void> {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const part of body) await file.writeFile(part);
    if (sync) await file.sync();
  } finally {
    await file.close();
  }
}
