import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The first bytes of a body, in a file without a name: nothing is left of it when its handle closes or its process dies. */
interface RestingStart extends AsyncDisposable {
  /** It has no more bytes, and not more than asked for. */
  readonly isWhole: boolean;
  /** Reads them into memory: into `room`, if that is large enough. */
  read(room?: Buffer): Promise<Buffer>;
}

/**
 * Waits on disk until a body has ended, or more than `most` bytes of it have come. A client may take minutes for 8 MiB, and a hundred of
 * them at once: in memory that was 725 MiB of one account.
 */
export async function restStart(
  folder: string,
  chunks: AsyncIterator<Uint8Array>,
  most: number,
): Promise<RestingStart> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const name = join(folder, randomUUID());
  const handle = await open(name, 'wx+', 0o600);
  try {
    await rm(name);
    let bytes = 0;
    let isWhole = false;
    while (bytes <= most && !isWhole) {
      const { value, done } = await chunks.next();
      if (done) isWhole = true;
      else bytes += await writeAll(handle, value);
    }
    return {
      isWhole,
      read: async (room) => {
        const buffer = room && room.length >= bytes ? room.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
        for (let at = 0; at < bytes; ) {
          const { bytesRead } = await handle.read(buffer, at, bytes - at, at);
          if (bytesRead === 0) throw new Error('a body that waited on disk was cut');
          at += bytesRead;
        }
        return buffer;
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    // Its source learns that nobody reads on.
    await chunks.return?.();
    throw error;
  }
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<number> {
  for (let at = 0; at < chunk.byteLength; ) at += (await handle.write(chunk, at)).bytesWritten;
  return chunk.byteLength;
}

/**
 * Runs at most so many works at once, each with a buffer of so many bytes; the others wait in their order. The buffers are
 * used again: as garbage, 90 of 8 MiB within seconds were 700 MiB before they were collected.
 */
export function roomsOf(most: number, bytes: number): <T>(work: (room: Buffer) => Promise<T>) => Promise<T> {
  const free: Buffer[] = [];
  const waiting: ((room: Buffer) => void)[] = [];
  let made = 0;
  const enter = (): Buffer | Promise<Buffer> => {
    const room = free.pop();
    if (room) return room;
    if (made === most) return new Promise((given) => waiting.push(given));
    made += 1;
    return Buffer.allocUnsafeSlow(bytes);
  };
  return async (work) => {
    const room = await enter();
    try {
      return await work(room);
    } finally {
      const next = waiting.shift();
      if (next) next(room);
      else free.push(room);
    }
  };
}
