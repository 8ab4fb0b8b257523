import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../kernel/base/clock.ts';
import type { Log } from '../../kernel/base/log.ts';
import type { Metrics } from '../../kernel/base/metrics.ts';
import { opusArgs, partArgs, type Places, spansArgs } from './media.args.ts';
import { type Chain, chains } from './media.cage.ts';
import {
  batchesOf,
  bytesAMs,
  type Clip,
  type FileSpan,
  joinedMs,
  type RecordingSource,
  spansOf,
} from './media.clips.ts';
import type { Hearing, MediaLack, PieceHearing } from './media.hearing.ts';
import { faultOf, MediaListener, type Silences, type SilentSpan, timeOf } from './media.listener.ts';
import { cutPieces } from './media.pieces.ts';
import { type MediaReady, Reader } from './media.reader.ts';
import {
  decodeMs,
  longestPartMs,
  longestReadMs,
  MediaRefused,
  mostFlacBytes,
  probeMs,
  wavHead,
} from './media.rules.ts';
import { OutOfTime, Programs } from './media.run.ts';
import { type Scratch, ScratchFolders } from './media.scratch.ts';
import type { Sound } from './media.tracks.ts';

/** A recording: `durationMs` is where the last packet of its sound ends; of several files together. */
export interface Recording extends Sound {
  durationMs: number;
}

/** How a recording is heard, where its silences are, and what of it is not heard. */
interface RecordingHeard extends Silences {
  hearing: Hearing;
  lacks: MediaLack[];
}

/** A part of a recording as a provider of speech takes it. */
export interface MediaPart {
  file: string;
  contentType: 'audio/flac' | 'audio/ogg';
  bytes: number;
}

/**
 * Reads recordings of strangers with ffmpeg (design: transcripts, Finalize and the pipeline). Every call throws
 * 503 when they are not installed, and the signal's reason when that ends it. How many run at once is the caller's to bound.
 */
export class MediaFiles {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #programs: Programs;
  readonly #scratch: ScratchFolders;
  readonly #reader: Reader;
  readonly #listener: MediaListener;

  constructor(options: {
    dataDir: string;
    scratchBytes: number;
    clock: Pick<Clock, 'after'>;
    log: Pick<Log, 'debug'>;
    metrics?: Pick<Metrics, 'gauge'>;
    /** For tests: ways to start the programs, the strictest first. */
    chains?: readonly Chain[];
  }) {
    this.#clock = options.clock;
    this.#programs = new Programs(options.clock);
    this.#reader = new Reader(options.log, this.#programs, options.chains ?? chains);
    this.#listener = new MediaListener(this.#reader);
    this.#scratch = new ScratchFolders(options.dataDir, options.scratchBytes);
    options.metrics?.gauge('svc_media_processes', 'Programs that read recordings', () => this.#programs.count);
  }

  /** Removes the scratch of processes that ended. */
  async start(): Promise<void> {
    await this.#scratch.empty();
  }

  /** Ends all programs; calls that wait for one throw. */
  stop(): void {
    this.#programs.stop();
  }

  /** Which version there is, and whether it runs in a cage; looks again until ffmpeg is there. */
  async ready(): Promise<MediaReady> {
    const { ffmpeg, cage } = (await this.#reader.found()) ?? { ffmpeg: null, cage: 'none' };
    return { ffmpeg, cage };
  }

  /** A folder for one step; throws 503 past `scratchBytes` in all folders. The caller bounds what it writes there. */
  scratch(): Promise<Scratch> {
    return this.#scratch.open();
  }

  /**
   * Cuts a file of the caller's own where another recording begins in it: a browser's recorder that was stopped and
   * started. Answers its pieces in order; those after the first stand beside it. `isWhole` is false when it holds
   * more than are read.
   */
  pieces(file: string): Promise<{ files: string[]; isWhole: boolean }> {
    return cutPieces(file);
  }

  /**
   * Looks at a recording without decoding it, for 30 s at most, and longer for many pieces. Throws `MediaRefused` for
   * what is not taken; a file that takes longer counts as damaged. Pieces after the first that cannot be read count
   * nothing.
   */
  async probe(recording: string | readonly string[], signal: AbortSignal): Promise<Recording> {
    const files = typeof recording === 'string' ? [recording] : recording;
    const ms = probeMs * (1 + files.length / 10);
    return this.#within(ms, signal, async (ending) => {
      let found: Recording | undefined;
      let fault: unknown = new MediaRefused('not_audio');
      for (const file of files) {
        try {
          const look = await this.#listener.length(file, ending);
          const durationMs = (found?.durationMs ?? 0) + look.durationMs;
          found = found ? { ...found, durationMs } : { ...soundOf(look.listing), durationMs };
        } catch (error) {
          if (!(error instanceof MediaRefused)) throw error;
          if (file === files[0]) fault = error;
        }
        if (found && found.durationMs >= longestReadMs) throw new MediaRefused('too_long');
      }
      if (!found) throw fault;
      return found;
    }).catch((error: unknown) => {
      throw error instanceof OutOfTime ? new MediaRefused('damaged') : error;
    });
  }

  /**
   * Decodes a recording, decides how it is heard, and says what of it is not; 10 min at most a pass. Throws
   * `MediaRefused` for one that cannot be decoded or is too long. Pieces that cannot be read are left out, as a lack
   * of sound.
   */
  async hear(recording: string | readonly string[], signal: AbortSignal): Promise<RecordingHeard> {
    const files = typeof recording === 'string' ? [recording] : recording;
    return this.#within(2 * decodeMs, signal, async (ending) => {
      const hearing: PieceHearing[] = [];
      const silences: SilentSpan[] = [];
      const lacks = new Set<MediaLack>();
      let fault: unknown;
      let durationMs = 0;
      for (const file of files) {
        try {
          const piece = await this.#listener.hear(file, ending);
          for (const { startMs, endMs } of piece.silences)
            silences.push({ startMs: startMs + durationMs, endMs: endMs + durationMs });
          for (const lack of piece.lacks) lacks.add(lack);
          hearing.push(piece.hearing);
          durationMs += piece.hearing.ms;
        } catch (error) {
          // One that has no sound lacks none.
          if (!(error instanceof MediaRefused)) throw error;
          if (error.reason !== 'not_audio') lacks.add('sound');
          fault ??= error;
          hearing.push({ ms: 0, tracks: [] });
        }
        if (durationMs >= longestReadMs) throw new MediaRefused('too_long');
      }
      if (durationMs === 0) throw fault;
      return { durationMs, silences, hearing, lacks: [...lacks] };
    });
  }

  /**
   * Cuts from `fromMs` to `toMs` (30 min at most) into the scratch: FLAC of one channel at 16 kHz, or Opus where FLAC has more
   * than 24 MB. It begins at `fromMs` within 20 ms, and has nothing of the file's metadata.
   */
  async part(
    source: RecordingSource,
    fromMs: number,
    toMs: number,
    scratch: Scratch,
    signal: AbortSignal,
  ): Promise<MediaPart> {
    const isWhole = Number.isSafeInteger(fromMs) && Number.isSafeInteger(toMs);
    if (!isWhole || fromMs < 0 || toMs <= fromMs || toMs - fromMs > longestPartMs) {
      throw new RangeError(`no part of a recording: ${fromMs} to ${toMs} ms`);
    }
    const spans = spansOf({ source, startMs: fromMs, endMs: toMs }, 0);
    const [span, ...others] = spans;
    if (!span || others.length > 0) return this.#joined(spans, toMs - fromMs, scratch, signal);
    const name = join(scratch.dir, `${fromMs}-${toMs}`);
    const flac = `${name}.flac`;
    const cut = (places: Places): string[] => partArgs(places, span.reading, span);
    await this.#write(cut, { input: span.file, output: flac, signal });
    const { size } = await stat(flac);
    if (size <= mostFlacBytes) return { file: flac, contentType: 'audio/flac', bytes: size };
    const ogg = `${name}.ogg`;
    await this.#write(opusArgs, { input: flac, output: ogg, signal });
    await rm(flac);
    return { file: ogg, contentType: 'audio/ogg', bytes: (await stat(ogg)).size };
  }

  /**
   * Joins clips of recordings (60 s each, 15 min in all) in the order given, with `gapMs` of silence after each, into one file in
   * the scratch, as `part` makes it. A clip begins where those before it and their silences end, also when one of them lies past
   * the end of its recording: then there is silence.
   */
  async clips(parts: readonly Clip[], gapMs: number, scratch: Scratch, signal: AbortSignal): Promise<MediaPart> {
    const wholeMs = joinedMs(parts, gapMs);
    const spans = parts.flatMap((part) => spansOf(part, gapMs));
    return this.#joined(spans, wholeMs, scratch, signal);
  }

  async #joined(
    spans: readonly FileSpan[],
    wholeMs: number,
    scratch: Scratch,
    signal: AbortSignal,
  ): Promise<MediaPart> {
    const wav = join(scratch.dir, 'joined.wav');
    const samples = join(scratch.dir, 'joined.raw');
    try {
      await writeFile(wav, wavHead(wholeMs * bytesAMs), { mode: 0o600 });
      for (const batch of batchesOf(spans)) {
        const [{ file, reading }] = batch as [FileSpan];
        const args = (places: Places): string[] => spansArgs(places, reading, batch);
        await this.#write(args, { input: file, output: samples, signal });
        const wanted = bytesAMs * batch.reduce((sum, { startMs, endMs, padMs }) => sum + endMs - startMs + padMs, 0);
        const { size } = await stat(samples);
        if (size !== wanted) throw new Error(`clips of ${size} bytes, not ${wanted}`);
        await pipeline(createReadStream(samples), createWriteStream(wav, { flags: 'a' }));
      }
      return await this.part(wav, 0, wholeMs, scratch, signal);
    } finally {
      await rm(samples, { force: true });
      await rm(wav, { force: true });
    }
  }

  /** Ends what takes longer in all than one program may. */
  async #within<T>(ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const cancel = this.#clock.after(ms, () => late.abort(new OutOfTime('a recording took too long')));
    try {
      return await work(AbortSignal.any([signal, late.signal]));
    } finally {
      cancel();
    }
  }

  async #write(
    argsFor: (places: Places) => string[],
    { input, output, signal }: { input: string; output: string; signal: AbortSignal },
  ): Promise<void> {
    let writtenMs = 0;
    const ended = await this.#reader.run(argsFor, { input, output, ms: decodeMs, signal }, (line) => {
      writtenMs = timeOf(line) ?? writtenMs;
    });
    // A file whose samples are elsewhere makes an empty one, and no error.
    if (ended.code === 0 && writtenMs > 0) return;
    await rm(output, { force: true });
    throw faultOf(ended);
  }
}

const soundOf = ({ format, codec, contentType, channels, sampleRate }: Sound): Sound => ({
  format,
  codec,
  contentType,
  channels,
  sampleRate,
});
