import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Cancel } from '../../../kernel/base/clock.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Hearing, MediaFiles, Scratch, RecordingSource } from '../../media/index.ts';
import type { Track } from '../transcripts.rows.ts';

/** A file that nobody uses stays for so long: the next window of its track is on its way. */
const idleMs = 60_000;

/** The blob of a track's audio. */
export const audioBlob = (accountId: string, transcriptId: string, track: string): string =>
  `audio/${accountId}/${transcriptId}/${track}`;

interface Local {
  readonly scratch: Promise<Scratch>;
  readonly ready: Promise<TrackPieces>;
  users: number;
  cancelIdle: Cancel;
}

/** A track as files: the recordings that it holds, in order. */
interface TrackPieces {
  files: readonly string[];
  /** False: it holds more than are read. */
  isWhole: boolean;
}

/** Audio of tracks as files of this machine: one copy for all windows that are cut from it at the time. */
export class TrackFiles {
  readonly #kernel: Kernel;
  readonly #media: MediaFiles;
  readonly #files = new Map<string, Local>();

  constructor(kernel: Kernel, media: MediaFiles) {
    this.#kernel = kernel;
    this.#media = media;
  }

  /** Runs `work` with the files of a track. Throws when there is no such audio, or no room for it. */
  async use<T>(
    accountId: string,
    transcriptId: string,
    track: Track,
    work: (pieces: TrackPieces) => Promise<T>,
  ): Promise<T> {
    const blob = audioBlob(accountId, transcriptId, track);
    const local = this.#files.get(blob) ?? this.#fetch(blob);
    local.users += 1;
    local.cancelIdle();
    try {
      return await work(await local.ready);
    } finally {
      local.users -= 1;
      if (local.users === 0) local.cancelIdle = this.#kernel.clock.after(idleMs, () => void this.#drop(blob, local));
    }
  }

  #fetch(blob: string): Local {
    const scratch = this.#media.scratch();
    const copy = async (): Promise<TrackPieces> => {
      const found = await this.#kernel.blobs.get(blob);
      if (!found) throw new Error('the audio of a track is gone');
      return this.#media.pieces(await writeTo(await scratch, found.body));
    };
    const local: Local = { scratch, ready: copy(), users: 0, cancelIdle: () => {} };
    this.#files.set(blob, local);
    // All who wait for it fail; the next one makes a new copy.
    local.ready.catch(() => this.#drop(blob, local));
    return local;
  }

  async #drop(blob: string, local: Local): Promise<void> {
    local.cancelIdle();
    if (this.#files.get(blob) === local) this.#files.delete(blob);
    await (await local.scratch.catch(() => undefined))?.remove();
  }

  /** Deletes every copy. */
  async stop(): Promise<void> {
    await Promise.all([...this.#files].map(([blob, local]) => this.#drop(blob, local)));
  }
}

/** A track as it is heard; a window that an older release planned is of the first file alone. */
export const sourceOf = ({ files }: TrackPieces, hearing: Hearing | undefined): RecordingSource =>
  hearing ? { files, hearing } : (files[0] as string);

/** Writes bytes into a scratch folder; answers the file. */
export async function writeTo(scratch: Scratch, body: Readable): Promise<string> {
  const file = join(scratch.dir, 'audio');
  await pipeline(body, createWriteStream(file, { mode: 0o600 }));
  return file;
}
