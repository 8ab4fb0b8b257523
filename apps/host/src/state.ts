import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { uuid } from '@svc/contract';
import { z } from 'zod';
import { CommandError, errnoOf } from './failure.ts';

/** Makes the state directory (0700); throws `CommandError` when it cannot be used or other users can write to it. */
export async function ensureStateDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (((await stat(directory)).mode & 0o022) === 0) return;
  } catch (error) {
    throw new CommandError(`cannot use the state directory ${directory}: ${errnoOf(error) ?? 'unknown error'}`);
  }
  throw new CommandError(`other users can write to the state directory ${directory}: chmod 700 it`);
}

/**
 * Writes a file (0600) that is either whole or absent, whatever happens in between. Answers false, changing nothing,
 * when `exclusive` and the file is already there.
 */
export async function writePrivate(path: string, content: string, exclusive: boolean): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
    if (!exclusive) await rename(temporary, path);
    // Unlike a rename, a link fails when the name is taken, and never shows an empty file.
    else await link(temporary, path);
    return true;
  } catch (error) {
    if (exclusive && errnoOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await file.close();
    await rm(temporary, { force: true });
  }
}

/** Who this machine is: the id stays the same for ever, the name is the one last used. */
export interface Device {
  id: string;
  name: string | undefined;
}

const deviceFile = z.object({ device_id: uuid, name: z.string().optional() });

/** Reads `device.json` of the state directory, or makes it with a new id; throws `CommandError` when it is damaged. */
export async function loadDevice(directory: string): Promise<Device> {
  const path = join(directory, 'device.json');
  await writePrivateUnlessThere(path);
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new CommandError(`cannot read ${path}: ${errnoOf(error) ?? 'it is not JSON'}`);
  }
  const parsed = deviceFile.safeParse(content);
  if (!parsed.success) throw new CommandError(`${path}: device_id is not a UUID`);
  return { id: parsed.data.device_id, name: parsed.data.name };
}

async function writePrivateUnlessThere(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (!there) await writePrivate(path, deviceText({ id: randomUUID(), name: undefined }), true);
}

/** Remembers the name the daemon runs under, so that `svc host exec` does not rename the device. */
export async function saveDevice(directory: string, device: Device): Promise<void> {
  await writePrivate(join(directory, 'device.json'), deviceText(device), false);
}

function deviceText(device: Device): string {
  return `${JSON.stringify({ device_id: device.id, name: device.name }, null, 2)}\n`;
}
