import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { processStart } from '@svc/process-lock';
import { ApiError } from '../../kernel/base/errors.ts';

/** A folder for the files of one step. Whoever opened it removes it. */
export interface Scratch extends AsyncDisposable {
  readonly dir: string;
  /** Removes the folder and all in it; a second call does nothing. */
  remove(): Promise<void>;
}

const own = /^(\d+)\.([0-9a-f]{16})\./;

/**
 * Folders for recordings under work, in `<data dir>/media`. A folder's name says which process made it: several processes
 * share a data dir, and each removes what dead ones left.
 */
export class ScratchFolders {
  readonly #dir: string;
  readonly #most: number;
  readonly #name = `${process.pid}.${startOf(process.pid)}`;

  constructor(dataDir: string, mostBytes: number) {
    this.#dir = join(dataDir, 'media');
    this.#most = mostBytes;
  }

  /** Removes what processes left that do not run any more. */
  async empty(): Promise<void> {
    for (const name of await this.#names()) {
      const [, pid, start] = own.exec(name) ?? [];
      const isHeld = pid !== undefined && start === startOf(Number(pid));
      if (!isHeld) await rm(join(this.#dir, name), { recursive: true, force: true });
    }
  }

  /** Makes a folder; throws 503 while those of all processes hold as much as is allowed. */
  async open(): Promise<Scratch> {
    if ((await this.#bytes()) >= this.#most) {
      throw new ApiError('unavailable', 'the room for recordings under work is full; try again later');
    }
    const dir = join(this.#dir, `${this.#name}.${randomUUID()}`);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
    return { dir, remove, [Symbol.asyncDispose]: remove };
  }

  /** Bytes of all folders; they have no folders in them. */
  async #bytes(): Promise<number> {
    let bytes = 0;
    for (const name of await this.#names()) {
      const folder = join(this.#dir, name);
      for (const file of await readdir(folder).catch(() => [])) {
        // It may go while we look.
        bytes += await stat(join(folder, file)).then(
          ({ size }) => size,
          () => 0,
        );
      }
    }
    return bytes;
  }

  async #names(): Promise<string[]> {
    return readdir(this.#dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
  }
}

/** A short text for when a process started; another one for every process of that number. */
function startOf(pid: number): string {
  const started = processStart(pid) ?? '';
  return createHash('sha256').update(started).digest('hex').slice(0, 16);
}
