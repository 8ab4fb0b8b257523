import { spawn } from 'node:child_process';
import { createHash, type KeyObject } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { link, open, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { template } from '@svc/contract';
import { z } from 'zod';
import { exited, runOk } from '../run.ts';
import { type Unpacked, unpackTar } from './build.ts';
import { TarGuard } from './guard.ts';
import { signHeader } from './signature.ts';
import type { StoredImage } from './store.ts';

/** The first bytes of an archive are its header, a line of JSON that spaces fill up; a tar in zstd is behind it. */
export const headerBytes = 1_024;
/** With the usual 16 KiB a third of the time goes for buffers. */
const chunkSize = 262_144;
const headerSchema = z.object({
  svc_image: z.literal(1),
  template,
  recipe: z.string().max(200),
  built_at: z.iso.datetime(),
  /** Of the tar. */
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  bytes: z.int().min(0),
  /** Of all of the above; files of an operator's own need none. */
  signature: z
    .string()
    .regex(/^[A-Za-z0-9_-]{86}$/)
    .optional(),
});
export type ArchiveHeader = z.output<typeof headerSchema>;

/**
 * Writes an image to a file that is not there yet, signed if there is a key; the file appears when all of it is written. Devices
 * stay out: every backend makes its own.
 */
export async function writeArchive(image: StoredImage, file: string, signKey?: KeyObject): Promise<ArchiveHeader> {
  const path = resolve(file);
  if (await stat(path).catch(() => undefined)) throw new Error(`${file} is there already; name another file`);
  const part = `${path}.part-${process.pid}`;
  try {
    const output = await open(part, 'wx', 0o644);
    try {
      const unpacked = await pack(image.rootfs, part);
      const { template: name, recipe, built_at } = image;
      const said = { svc_image: 1 as const, template: name, recipe, built_at, ...unpacked };
      const header: ArchiveHeader = { ...said, ...(signKey && { signature: signHeader(said, signKey) }) };
      await output.write(`${JSON.stringify(header).padEnd(headerBytes - 1)}\n`, 0);
      await output.sync();
      // Not `rename`, which would take the place of a file that came meanwhile.
      await link(part, path);
      return header;
    } finally {
      await output.close();
    }
  } finally {
    await rm(part, { force: true });
  }
}

async function pack(rootfs: string, part: string): Promise<Unpacked> {
  const words = ['-c', '--sort=name', '--format=gnu', '--numeric-owner', '--exclude=./dev/*', '-C', rootfs, '.'];
  const child = spawn('tar', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 4096);
  });
  const hash = createHash('sha256');
  let bytes = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const file = createWriteStream(part, { flags: 'r+', start: headerBytes });
  const [code] = await Promise.all([exited(child), pipeline(child.stdout, count, createZstdCompress(), file)]);
  if (code !== 0) {
    const hint = process.getuid?.() === 0 ? '' : '; export as the user that built it';
    throw new Error(`${complaint.split('\n')[0] || `tar ended with ${code ?? 'a signal'}`}${hint}`);
  }
  return { digest: `sha256:${hash.digest('hex')}`, bytes };
}

/** The image that an archive claims to be; nothing of it is checked yet. */
export async function readHeader(file: string): Promise<ArchiveHeader> {
  const input = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot read ${file}: ${error.code ?? 'unknown'}`);
  });
  try {
    const { buffer, bytesRead } = await input.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
    return parseHeader(buffer.subarray(0, bytesRead), file);
  } finally {
    await input.close();
  }
}

/** The header in the first bytes of an archive, which a message calls `name`; nothing of it is checked yet. */
export function parseHeader(bytes: Buffer, name: string): ArchiveHeader {
  try {
    return headerSchema.parse(JSON.parse(bytes.toString('utf8', 0, headerBytes)));
  } catch {
    throw new Error(`${name} is no archive of an image; svc images export makes one`);
  }
}

/** Reads an archive, which a message calls `name`, and throws unless its content is what its header says; no tar is read. */
export async function checkContent(file: string, { digest, bytes }: ArchiveHeader, name: string): Promise<void> {
  const hash = createHash('sha256');
  let seen = 0;
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      // No further than it says: a small file may unpack into more than any disk holds.
      if (seen > bytes) return done(damaged(name));
      hash.update(chunk);
      done();
    },
  });
  await pipeline(createReadStream(file, { start: headerBytes }), createZstdDecompress({ chunkSize }), count).catch(
    (error: Error) => {
      throw explained(error, name);
    },
  );
  if (seen !== bytes || `sha256:${hash.digest('hex')}` !== digest) throw damaged(name);
}

/**
 * Unpacks an archive into `<work>/rootfs`, checked on the way: what is not as the header says, or might be written elsewhere,
 * fails. Owners are kept as root only, and no file keeps a set-id bit: sandboxes do not honour them, other users of this
 * machine might.
 */
export async function readArchive(file: string, header: ArchiveHeader, work: string): Promise<Unpacked> {
  const rootfs = join(work, 'rootfs');
  const guard = new TarGuard();
  const reading = pipeline(createReadStream(file, { start: headerBytes }), createZstdDecompress({ chunkSize }), guard);
  const [read, unpacking] = await Promise.allSettled([
    reading,
    unpackTar(guard, rootfs, { owners: process.getuid?.() === 0 }),
  ]);
  if (read.status === 'rejected') throw explained(read.reason, file);
  if (unpacking.status === 'rejected') throw unpacking.reason;
  const unpacked = unpacking.value;
  if (unpacked.digest !== header.digest || unpacked.bytes !== header.bytes) {
    throw damaged(file);
  }
  await runOk('find', [rootfs, '-perm', '/6000', '!', '-type', 'l', '-exec', 'chmod', 'ug-s', '{}', '+'], {
    timeoutMs: 600_000,
  });
  return unpacked;
}

const damaged = (file: string): Error =>
  new Error(`${file} is damaged: its content is not what its digest says; copy, fetch or export it again`);

const explained = (error: NodeJS.ErrnoException, file: string): Error =>
  error.code?.startsWith('ZSTD') || error.code?.startsWith('Z_') ? new Error(`${file} is damaged or cut off`) : error;
