import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { isAlive } from '@svc/process-lock';
import type { Config } from '../config.ts';
import { CommandError } from '../kernel/base/command-error.ts';
import { syncFolder } from '../postgres/datadir.ts';

/** A backup that is kept somewhere. */
interface Kept {
  name: string;
  bytes: number;
  /** When it was made, by its name. */
  at: Date;
}

/** Where backups are kept: a folder or a bucket. A backup appears there whole or not at all. */
export interface Store {
  put(name: string, body: Readable): Promise<void>;
  /** Throws `CommandError` for what is not there, or is no file. */
  open(name: string): Promise<Readable>;
  /** Writes a small file whole, in the place of one that was there. */
  replace(name: string, text: string): Promise<void>;
  /** A small file; undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  /** Those with a name of ours, the newest first. */
  list(): Promise<Kept[]>;
  remove(name: string): Promise<void>;
  /** As people name it. */
  nameOf(name: string): string;
}

/** `svc-<machine>-<begin of the installation's id>-<time>.tar.zst`; the machine is for people. */
export const newName = (installation: string, at: Date): string =>
  `svc-${machine()}-${beginOf(installation)}-${at.toISOString().slice(0, 19).replaceAll(':', '')}Z.tar.zst`;

/** Platforms may share a place, and a machine may change its name: each counts and removes those of its installation. */
export const isOf =
  (installation: string) =>
  ({ name }: Pick<Kept, 'name'>): boolean =>
    partsOf(name)?.installation === beginOf(installation);

const beginOf = (installation: string): string => installation.slice(0, 12);

const machine = (): string =>
  hostname()
    .replace(/[^A-Za-z0-9]+/g, '_')
    .slice(0, 60) || 'machine';

/** Opens a folder, or `s3://bucket/prefix` at the endpoint and with the keys of the settings. */
export async function openStore(place: string, config: Config): Promise<Store> {
  if (!place.startsWith('s3://')) return folderStore(resolve(place));
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(place) ?? [];
  if (bucket === '') throw new CommandError(`"${place}" must be s3://bucket or s3://bucket/prefix`);
  return s3Store(config, bucket, prefix);
}

/** A file by its own name, whatever it is called. */
export function openFile(file: string): { store: Store; name: string } {
  const path = resolve(file);
  return { store: folderStore(dirname(path)), name: basename(path) };
}

function partsOf(name: string): { installation: string; at: Date } | undefined {
  const form = /^svc-\w+-([0-9a-f]{12})-(\d{4}-\d\d-\d\d)T(\d\d)(\d\d)(\d\d)Z\.tar\.zst$/;
  const [, installation, day, hour, minute, second] = form.exec(name) ?? [];
  return installation === undefined ? undefined : { installation, at: new Date(`${day}T${hour}:${minute}:${second}Z`) };
}

/** An empty file is no backup, whatever it is called. */
function keptOf(name: string, bytes: number): Kept[] {
  const parts = bytes > 0 ? partsOf(name) : undefined;
  return parts ? [{ name, bytes, at: parts.at }] : [];
}

const newestFirst = (all: Kept[]): Kept[] => all.sort((a, b) => b.at.getTime() - a.at.getTime());

function folderStore(folder: string): Store {
  const pathOf = (name: string): string => join(folder, name);
  return {
    async put(name, body) {
      const path = pathOf(name);
      const part = `${path}.part-${process.pid}`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await sweepParts(folder, name);
        if (await stat(path).catch(() => undefined))
          throw new CommandError(`${path} is there already; name another file`);
        await writeSteadily(part, body);
        await rename(part, path);
        syncFolder(folder);
      } catch (error) {
        body.destroy();
        await rm(part, { force: true });
        throw explained(error, folder);
      }
    },
    async open(name) {
      try {
        // Before it is opened: a pipe would be waited for.
        if (!(await stat(pathOf(name))).isFile()) throw new CommandError(`${pathOf(name)} is no file`);
        return createReadStream('', { fd: await open(pathOf(name), 'r'), highWaterMark: 256 * 1024 });
      } catch (error) {
        throw explained(error, pathOf(name));
      }
    },
    async replace(name, text) {
      const part = `${pathOf(name)}.part-${process.pid}`;
      try {
        await writeFile(part, text, { mode: 0o600, flush: true });
        await rename(part, pathOf(name));
      } catch (error) {
        throw explained(error, folder);
      }
    },
    read: (name) =>
      readFile(pathOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw explained(error, pathOf(name));
      }),
    async list() {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw explained(error, folder);
      });
      const found = await Promise.all(
        names.map(async (name) => keptOf(name, (await stat(pathOf(name)).catch(() => undefined))?.size ?? 0)),
      );
      return newestFirst(found.flat());
    },
    remove: (name) => rm(pathOf(name), { force: true }),
    nameOf: pathOf,
  };
}

/** Bytes between two syncs. */
const syncBytes = 4 * 1024 * 1024;

/**
 * Brings a file to disk as it comes. One sync of all of it at the end would hold up every commit of the database on the same
 * disk for as long.
 */
async function writeSteadily(path: string, body: Readable): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let loose = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
      loose += chunk.length;
      if (loose < syncBytes) continue;
      await file.datasync();
      loose = 0;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Removes what processes that were killed had begun to write. */
async function sweepParts(folder: string, target: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, begun = '', pid] = /^(.+)\.part-(\d+)$/.exec(name) ?? [];
    // A file of another program, or of another platform, may be called so too.
    const own = partsOf(target)?.installation;
    const isOurs = begun === target || (own !== undefined && partsOf(begun)?.installation === own);
    if (isOurs && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

async function s3Store(config: Config, bucket: string, prefix: string): Promise<Store> {
  const { openS3Blobs } = await import('../kernel/outside/blobs.s3.ts');
  const blobs = openS3Blobs(
    { ...(config.backup.s3 ?? config.s3Access), bucket },
    join(config.dataDir ?? '.', 'unsent'),
  );
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);
  return {
    async put(name, body) {
      await blobs.put(keyOf(name), body);
    },
    async open(name) {
      const found = await blobs.get(keyOf(name));
      if (!found) throw new CommandError(`there is no ${keyOf(name)} in the bucket ${bucket}`);
      return found.body;
    },
    async replace(name, text) {
      await blobs.put(keyOf(name), Buffer.from(text));
    },
    async read(name) {
      const found = await blobs.get(keyOf(name));
      return found && (await buffer(found.body)).toString();
    },
    async list() {
      const all = await blobs.list(prefix === '' ? '' : `${prefix}/`);
      const own = all.map((key) => key.slice(keyOf('').length)).filter((name) => partsOf(name) !== undefined);
      return newestFirst(
        (await Promise.all(own.map(async (name) => keptOf(name, (await blobs.size(keyOf(name))) ?? 0)))).flat(),
      );
    },
    remove: (name) => blobs.delete(keyOf(name)),
    nameOf: (name) => `s3://${bucket}/${keyOf(name)}`,
  };
}

/** What the system refused, in words. */
function explained(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new CommandError(`the disk of ${path} is full; nothing was kept`);
  if (code === 'ENOENT') return new CommandError(`there is no ${path}`);
  if (code === 'ENOTDIR') return new CommandError(`${path} is no folder`);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new CommandError(`${path}: this user may not (${code})`);
  return error;
}
