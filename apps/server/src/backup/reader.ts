import { createHash, timingSafeEqual } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { z } from 'zod';
import { CommandError } from '../kernel/base/command-error.ts';
import {
  closing,
  formatVersion,
  type Header,
  header,
  type BackupManifest,
  manifest,
  names,
  places,
  takenFiles,
} from './format.ts';
import { openSeal, type Seal } from './seal.ts';
import { readTar, type TarEntry } from './tar.ts';

/** A file that was read to its end and is whole. */
export interface VerifiedBackup {
  header: Header;
  manifest: BackupManifest;
  /** With a passphrase: opens what is sealed in it. */
  seal: Seal | undefined;
  /** What is sealed in it, by the name of its file. */
  sealed: ReadonlyMap<string, Buffer>;
  /** Of the file. */
  bytes: number;
}

/** Opens a file of the data dir that is sealed in a backup; undefined when it is not in it, or no passphrase was given. */
export function openSealed({ seal, sealed }: VerifiedBackup, name: string): Buffer | undefined {
  const found = sealed.get(name);
  return found && seal?.open(places.sealed + name, found);
}

/** A header is small; a manifest has a line for each file, 100 bytes of a million of them. */
const mostHeader = 64 * 1024;
const mostSealed = 4 * 1024 * 1024;
/** Of all sealed files together, which stay in memory. */
const mostSealedBytes = 16 * 1024 * 1024;
/** A file made to fill the memory has more. */
const mostEntries = 4_000_000;
const mostManifest = 256 * 1024 * 1024;

const prefixes = Object.values(places);

/**
 * Reads a backup to its end and compares every byte with its hash, and the list of hashes with its seal. Throws `CommandError`
 * that says what is wrong: no backup, cut off, damaged, swapped parts, of another version, another passphrase.
 */
export async function verifyBackup(
  source: Readable,
  passphrase: string | undefined,
  /** Hears the header as soon as it is read. */
  begun: (header: Header) => void = () => {},
): Promise<VerifiedBackup> {
  let bytes = 0;
  source.on('data', (chunk: Buffer) => (bytes += chunk.length));
  const seen: BackupManifest['entries'] = [];
  const sealed = new Map<string, Buffer>();
  let sealedBytes = 0;
  let found: Header | undefined;
  let seal: Seal | undefined;
  let list: { text: Buffer; value: BackupManifest } | undefined;
  let end: z.output<typeof closing> | undefined;
  for await (const entry of entriesOf(source)) {
    if (seen.length > mostEntries || sealedBytes > mostSealedBytes) throw damaged('it has more in it than a backup');
    if (end !== undefined) throw damaged('something stands behind its end');
    if (found === undefined) {
      if (entry.name !== names.header) throw notOurs();
      const text = await readAll(entry, mostHeader);
      found = readHeader(text);
      if (!found.seal && passphrase !== undefined)
        throw new CommandError(
          'the file is not sealed, and a passphrase is set: unset SVC_BACKUP_PASSPHRASE if that is right',
        );
      if (found.seal && passphrase !== undefined) seal = openSeal(passphrase, found.seal);
      begun(found);
      seen.push([entry.name, entry.bytes, sha256(text)]);
    } else if (entry.name === names.manifest && list === undefined) {
      const text = await readAll(entry, mostManifest);
      list = { text, value: parsed(manifest, text, names.manifest) };
    } else if (entry.name === names.seal && list !== undefined) {
      end = parsed(closing, await readAll(entry, mostHeader), names.seal);
    } else if (list !== undefined) throw damaged('an entry follows its manifest');
    else if (entry.name.startsWith(places.sealed)) {
      const text = await readAll(entry, mostSealed);
      sealed.set(checkName(entry.name).slice(places.sealed.length), text);
      sealedBytes += text.length;
      seen.push([entry.name, entry.bytes, sha256(text)]);
    } else seen.push([checkName(entry.name), entry.bytes, await hashOf(entry.body)]);
  }
  if (!found) throw notOurs();
  if (!list || !end) throw new CommandError('the file is cut off: its end is missing');
  checkSeal(list.text, end, seal);
  compare(seen, list.value.entries);
  return { header: found, manifest: list.value, seal, sealed, bytes };
}

/** Its entries, as they stand there: nothing is compared. */
export async function* entriesOf(source: Readable): AsyncGenerator<TarEntry> {
  const opened = createZstdDecompress();
  source.on('error', (error) => opened.destroy(error));
  source.pipe(opened);
  let given = 0;
  source.on('data', (chunk: Buffer) => (given += chunk.length));
  try {
    yield* readTar(unpacked(opened as AsyncIterable<Buffer>));
    if (opened.bytesWritten < given) throw damaged('something stands behind its end');
  } finally {
    source.destroy();
    opened.destroy();
  }
}

/** Says in words what the decoder finds. */
async function* unpacked(opened: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* opened;
  } catch (error) {
    throw explained(error);
  }
}

function explained(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'ZSTD_error_prefix_unknown') return notOurs();
  if (code === 'Z_BUF_ERROR') return new CommandError('the file is cut off: its end is missing');
  return code.startsWith('ZSTD') || code.startsWith('Z_') ? damaged('it cannot be unpacked') : error;
}

function readHeader(text: Buffer): Header {
  const { svc_backup: form } = parsed(z.object({ svc_backup: z.int() }), text, names.header);
  if (form > formatVersion)
    throw new CommandError('the file was made by a newer version of svc: restore it with that version');
  if (form < formatVersion)
    throw new CommandError('the file was made by an older version of svc, in a form that this one does not read');
  return parsed(header, text, names.header);
}

function parsed<T>(schema: z.ZodType<T>, text: Buffer, name: string): T {
  try {
    return schema.parse(JSON.parse(text.toString()));
  } catch {
    throw damaged(`${name} in it cannot be read`);
  }
}

/** Without the passphrase hashes show damage, and nothing against who can write them anew. */
function checkSeal(text: Buffer, { sha256: told, mac }: z.output<typeof closing>, seal: Seal | undefined): void {
  if (sha256(text) !== told) throw damaged('its manifest is not the one that was written');
  if (!seal) return;
  const [own, given] = [Buffer.from(seal.sign(text)), Buffer.from(mac ?? '')];
  if (own.length !== given.length || !timingSafeEqual(own, given))
    throw new CommandError('the file was put together by somebody without its passphrase');
}

function compare(seen: BackupManifest['entries'], told: BackupManifest['entries']): void {
  const at = seen.findIndex((entry, index) => entry.join() !== told[index]?.join());
  if (at >= 0) throw damaged(`${seen[at]?.[0]} is not what its manifest says`);
  if (seen.length < told.length) throw damaged(`${told[seen.length]?.[0]} is missing`);
}

/** Throws for a name that could lead out of the folder that it is unpacked to. */
export function checkName(name: string): string {
  const isOurs = prefixes.some((prefix) => name.startsWith(prefix));
  const parts = name.replace(/\/$/, '').split('/');
  // Of the data dir those that a backup takes, and nothing below it.
  const isFile = name.startsWith(places.files) || name.startsWith(places.sealed);
  const isTaken = !isFile || (parts.length === 2 && takenFiles.test(parts[1] ?? ''));
  const isWithin = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isOurs || !isTaken || !isWithin || name.includes('\0')) throw damaged('it has a name that no backup has');
  return name;
}

async function readAll({ name, bytes, body }: TarEntry, most: number): Promise<Buffer> {
  if (bytes > most) throw damaged(`${name} in it is too long`);
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}

async function hashOf(body: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of body) hash.update(part);
  return hash.digest('hex');
}

const sha256 = (text: Buffer): string => createHash('sha256').update(text).digest('hex');
const notOurs = (): CommandError => new CommandError('the file is no backup of svc');
const damaged = (what: string): CommandError => new CommandError(`the file is damaged: ${what}`);
