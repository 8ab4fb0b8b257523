import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { newSandbox } from '@svc/sandboxd-api';
import { z } from 'zod';
import { guestUid } from '../parts.ts';
import { exited, lastLine } from '../run.ts';
import { type Context, enter } from './context.ts';
import { inCopy, wholeOf } from './copies.ts';
import type { SandboxRecord } from './record.ts';

/**
 * Takes in what a restore left in `restored`: sandboxes as `copyOut` wrote them, in pieces, and the images that their memory
 * needs. One that ran is paused with its files. Each is done when its record is; killed before, it begins anew at the next
 * start. One that fails stays there and holds up no other.
 */
export async function takeArrivals(context: Context): Promise<void> {
  const { arrivals } = context;
  const found = await piecesIn(join(arrivals, 'sandboxes'));
  for (const [name, pieces] of found) {
    const id = name.replace(/\.tar$/, '');
    try {
      await takeIn(context, id, pieces);
      for (const piece of pieces) await rm(piece, { force: true });
      context.log('a sandbox was restored', { id });
    } catch (error) {
      context.log('a sandbox was not restored; it is tried again at the next start', { id, err: error });
    }
  }
  const left = await piecesIn(join(arrivals, 'sandboxes'));
  if (left.size === 0) await rm(arrivals, { recursive: true, force: true });
}

/** Files `<name>.0000`, `<name>.0001`, … by name, each in its order. */
async function piecesIn(dir: string): Promise<Map<string, string[]>> {
  const names = (await readdir(dir).catch(() => [])).toSorted((a, b) => (a < b ? -1 : 1));
  return Map.groupBy(
    names.filter((name) => /\.\d{4,}$/.test(name)).map((name) => join(dir, name)),
    (path) => basename(path).replace(/\.\d+$/, ''),
  );
}

async function takeIn(context: Context, id: string, pieces: readonly string[]): Promise<void> {
  if (!/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id)) throw new Error('not the id of a sandbox');
  const known = (await context.records.load()).some((record) => record.id === id);
  if (known) return;
  const work = join(context.copies, id);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true, mode: 0o700 });
  try {
    await unpack(pieces, work, [`--exclude=./${inCopy.workspace}`, `--exclude=${inCopy.workspace}`]);
    const record = readRecord(await readFile(join(work, inCopy.record), 'utf8'));
    if (record.id !== id) throw new Error('it is the record of another sandbox');
    await place(context, record, pieces, work).catch((error: unknown) => {
      // Held all the same: the platform would take it for lost.
      enter(context, { ...record, status: 'paused' }, undefined);
      throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The record of a sandbox as a backup has it: a file that somebody else may have made. Paths in it count for nothing here. */
const broughtRecord = newSandbox.extend({
  owner: z.string().min(1).max(100),
  id: z.uuid(),
  instance: z.uuid(),
  backend: z.literal('v2'),
  status: z.enum(['running', 'paused']),
  restored: z.boolean(),
  image: z.object({ digest: z.string().regex(/^sha256:[0-9a-f]{64}$/), rootfs: z.string() }),
  guest: z.string(),
  uid: z.literal(guestUid),
  snapshot: z.object({ memory: z.boolean(), bytes: z.number().min(0) }).optional(),
});

function readRecord(text: string): SandboxRecord {
  const { snapshot, ...record } = broughtRecord.parse(JSON.parse(text));
  return { ...record, ...(snapshot && { snapshot }) };
}

/** Puts files and memory in their places, and the record last. */
async function place(context: Context, record: SandboxRecord, pieces: readonly string[], work: string): Promise<void> {
  const { instance, uid } = record;
  await context.workspaces.remove(instance);
  await context.workspaces.create(instance, uid);
  await unpack(pieces, wholeOf(context, instance), ['--strip-components=1', inCopy.workspace]);
  const memory = record.status === 'paused' && record.snapshot?.memory === true;
  const guest = memory ? await placeMemory(context, record, work) : context.guest.path;
  const image = await imageOf(context, record.image.digest);
  const { bytes } = await context.workspaces.usage(instance);
  await context.records.save({
    ...record,
    guest,
    image: { digest: image.digest, rootfs: image.rootfs },
    status: 'paused',
    snapshot: memory ? (record.snapshot ?? { memory, bytes }) : { memory: false, bytes },
  });
}

/** Puts memory where a resume looks for it, and the agent that is in it; answers where that is. */
async function placeMemory(context: Context, { instance, guest }: SandboxRecord, work: string): Promise<string> {
  const memory = join(context.snapshots, instance);
  await mkdir(context.snapshots, { recursive: true, mode: 0o700 });
  await rm(memory, { recursive: true, force: true });
  await needFolder(join(work, inCopy.memory));
  await rename(join(work, inCopy.memory), memory);
  const agent = join(dirname(context.guest.path), basename(guest));
  if (!(await stat(agent).catch(() => undefined))) {
    await needFolder(join(work, inCopy.guest));
    await rename(join(work, inCopy.guest), agent);
  }
  return agent;
}

/** Throws for a link, which would lead out of what was brought. */
async function needFolder(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) throw new Error(`${basename(path)} is no folder`);
}

/** The image of this digest: here already, or brought by the restore. */
async function imageOf(context: Context, digest: string) {
  const name = `${digest.replace('sha256:', '')}.image`;
  const pieces = (await piecesIn(join(context.arrivals, 'images'))).get(name) ?? [];
  const file = join(context.copies, name);
  try {
    if (pieces.length > 0) await pipeline(Readable.from(joined(pieces)), createWriteStream(file, { mode: 0o600 }));
    return await context.images.importKept(digest, file);
  } finally {
    await rm(file, { force: true });
  }
}

async function* joined(pieces: readonly string[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield* createReadStream(piece) as AsyncIterable<Buffer>;
}

/** Owners, modes and attributes as they were; what has a name outside of the folder is refused by tar. */
async function unpack(pieces: readonly string[], into: string, which: readonly string[]): Promise<void> {
  const words = ['-x', '-p', '--numeric-owner', '--xattrs', '--xattrs-include=*', '--sparse', '-C', into, ...which];
  const tar = spawn('tar', words, { stdio: ['pipe', 'ignore', 'pipe'] });
  let complaint = '';
  tar.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-4_096)));
  const fed = pipeline(Readable.from(joined(pieces)), tar.stdin).catch((error: NodeJS.ErrnoException) => {
    // It has seen its last file, and says by its code whether that was all.
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
  const [code] = await Promise.all([exited(tar), fed]);
  if (code !== 0) throw new Error(`tar: ${lastLine(complaint) || code}`);
}
