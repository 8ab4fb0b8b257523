import { randomUUID } from 'node:crypto';
import { mkdir, open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** A body that waits on disk. */
export interface SpooledBody {
  readonly bytes: number;
  /** All of it, as it was. */
  read(): Promise<Buffer>;
  /** Lets it go; to be called once, whatever happened. */
  drop(): Promise<void>;
}

/** An account may take one part in so many of the disk's room. */
const sharesOfAll = 4;

/** Bodies of requests on disk, while somebody else works on them. Their files have no name: nothing stays after a kill. */
export class Spool {
  readonly #dir: string;
  readonly #most: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(dir: string, mostBytes: number) {
    this.#dir = dir;
    this.#most = mostBytes;
  }

  /** Writes a body of `owner`; undefined where there is no room for it, or the disk takes none. */
  async put(owner: string, bytes: Buffer): Promise<SpooledBody | undefined> {
    const own = (this.#taken.get(owner) ?? 0) + bytes.length;
    if (this.#all + bytes.length > this.#most || own > this.#most / sharesOfAll) return undefined;
    this.#count(owner, bytes.length);
    try {
      const file = await this.#write(bytes);
      const { length } = bytes;
      return {
        bytes: length,
        read: () => readAll(file, length),
        drop: async () => {
          this.#count(owner, -length);
          await file.close();
        },
      };
    } catch {
      this.#count(owner, -bytes.length);
      return undefined;
    }
  }

  /** Of all accounts. */
  get bytes(): number {
    return this.#all;
  }

  async #write(bytes: Buffer): Promise<FileHandle> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const path = join(this.#dir, randomUUID());
    const file = await open(path, 'wx+', 0o600);
    try {
      await unlink(path);
      await file.writeFile(bytes);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  #count(owner: string, bytes: number): void {
    this.#all += bytes;
    const own = (this.#taken.get(owner) ?? 0) + bytes;
    if (own > 0) this.#taken.set(owner, own);
    else this.#taken.delete(owner);
  }
}

async function readAll(file: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await file.read(bytes, at, length - at, at);
    if (bytesRead === 0) throw new Error('a body on disk is shorter than it was');
    at += bytesRead;
  }
  return bytes;
}
