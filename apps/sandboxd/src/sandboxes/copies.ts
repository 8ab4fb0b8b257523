import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { NodeError } from '../error.ts';
import { exited, lastLine, runOk } from '../run.ts';
import { type Context, entryOf, serially } from './context.ts';
import type { SandboxRecord } from './record.ts';

/** Names in the tar of a sandbox. */
export const inCopy = { record: 'record.json', memory: 'memory', workspace: 'workspace', guest: 'guest' } as const;

/** Removes copies that a sandboxd before this one had begun. */
export const sweepCopies = ({ copies }: Context): Promise<void> => rm(copies, { recursive: true, force: true });

/**
 * Writes all that stands for a sandbox as a tar: its record, its files, and of a paused one its memory and the agent in it. It
 * goes on meanwhile: what is written is what it was at the beginning, of one that runs its files as they were at that instant.
 */
export async function copyOut(context: Context, id: string, target: Writable, signal: AbortSignal): Promise<void> {
  const copy = randomUUID();
  const place = join(context.copies, copy);
  const entry = entryOf(context, id);
  try {
    const record = await serially(entry, () => hold(context, entry.record, place, copy));
    const words = ['-c', '--format=posix', '--numeric-owner', '--xattrs', '--sparse', '-C', place, '.'];
    const add = (path: string, name: string): void => {
      // Links lead where they led.
      words.push(`--transform=s,^${basename(path)},${name},S`, '-C', dirname(path), basename(path));
    };
    add(wholeOf(context, copy), inCopy.workspace);
    if (record.snapshot?.memory) add(record.guest, inCopy.guest);
    const tar = spawn('tar', words, { stdio: ['ignore', 'pipe', 'pipe'], signal });
    let complaint = '';
    tar.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-4_096)));
    const [code] = await Promise.all([exited(tar), pipeline(tar.stdout, target)]);
    if (code !== 0) throw new Error(`tar: ${lastLine(complaint) || code}`);
  } finally {
    await rm(place, { recursive: true, force: true });
    await context.workspaces.remove(copy);
  }
}

/** Takes hold of what is to be written, in an instant: files as a copy that shares blocks, memory by its names. */
async function hold(context: Context, record: SandboxRecord, place: string, copy: string): Promise<SandboxRecord> {
  const { status, instance, snapshot } = record;
  if (status !== 'paused' && status !== 'running') throw new NodeError('sandbox_not_running', `it is ${status}`);
  await mkdir(place, { recursive: true, mode: 0o700 });
  await writeFile(join(place, inCopy.record), JSON.stringify(record), { mode: 0o600 });
  await context.workspaces.clone(instance, copy);
  if (snapshot?.memory) await runOk('cp', ['-al', join(context.snapshots, instance), join(place, inCopy.memory)]);
  return record;
}

/** The folder that counts against the limit of a workspace: with what its user installed, unless it is of a release before that. */
export function wholeOf({ workspaces }: Context, id: string): string {
  const files = workspaces.path(id);
  return workspaces.local(id) === undefined ? files : dirname(files);
}

/** Writes an image that paused sandboxes need. */
export async function copyImage(context: Context, digest: string, target: Writable): Promise<void> {
  const file = join(context.copies, `${randomUUID()}.image`);
  await mkdir(context.copies, { recursive: true, mode: 0o700 });
  try {
    await context.images.exportKept(digest, file);
    await pipeline(createReadStream(file), target);
  } finally {
    await rm(file, { force: true });
  }
}
