import { access, open, readFile, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../kernel/base/clock.ts';
import { ApiError } from '../../kernel/base/errors.ts';
import type { Log } from '../../kernel/base/log.ts';
import type { Metrics } from '../../kernel/base/metrics.ts';
import { type Bound, type CageKind, cageWords, type Chain, chains, inCage, programPath } from './media.cage.ts';
import { batchesOf, bytesAMs, type Clip, joinedMs } from './media.clips.ts';
import {
  clipsArgs,
  decodeMs,
  lengthArgs,
  longestPartMs,
  longestReadMs,
  MediaRefused,
  mostFlacBytes,
  openFault,
  opusArgs,
  partArgs,
  type Places,
  probeMs,
  silenceArgs,
  type Sound,
  soundOf,
  tracksArgs,
  wavHead,
} from './media.rules.ts';
import { type Ended, OutOfTime, Programs } from './media.run.ts';
import { type Scratch, ScratchFolders } from './media.scratch.ts';

/** The command that installs what is missing. */
export const mediaCommand = 'run as root: apt-get install --no-install-recommends ffmpeg bubblewrap';

/** What reads recordings on this machine. `ffmpeg` is its version, null when it is not installed. */
export interface MediaReady {
  ffmpeg: string | null;
  cage: CageKind;
}

/** A recording: `durationMs` is where the last packet of its first track of sound ends. */
export interface Recording extends Sound {
  durationMs: number;
}

/** Spans of silence in the order of time, milliseconds, and the length that was decoded. */
export interface Silences {
  durationMs: number;
  silences: { startMs: number; endMs: number }[];
}

/** A part of a recording as a provider of speech takes it. */
export interface MediaPart {
  file: string;
  contentType: 'audio/flac' | 'audio/ogg';
  bytes: number;
}

/** How the programs start on this machine. */
interface Start extends MediaReady {
  words: readonly string[];
}

const mostSilences = 20_000;
const mostTracksText = 256 * 1024;
const headBytes = 128;
const versionMs = 10_000;

/**
 * Reads recordings of strangers with ffprobe and ffmpeg (design: transcripts, Finalize and the pipeline). Every call throws
 * 503 when they are not installed, and the signal's reason when that ends it. How many run at once is the caller's to bound.
 */
export class MediaFiles {
  readonly #log: Pick<Log, 'debug'>;
  readonly #programs: Programs;
  readonly #scratch: ScratchFolders;
  readonly #chains: readonly Chain[];
  #start: Start | undefined;

  constructor(options: {
    dataDir: string;
    scratchBytes: number;
    clock: Pick<Clock, 'after'>;
    log: Pick<Log, 'debug'>;
    metrics?: Pick<Metrics, 'gauge'>;
    /** For tests: ways to start the programs, the strictest first. */
    chains?: readonly Chain[];
  }) {
    this.#chains = options.chains ?? chains;
    this.#log = options.log;
    this.#programs = new Programs(options.clock);
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
    const { ffmpeg, cage } = (await this.#found()) ?? { ffmpeg: null, cage: 'none' };
    return { ffmpeg, cage };
  }

  /** A folder for one step; throws 503 past `scratchBytes` in all folders. The caller bounds what it writes there. */
  scratch(): Promise<Scratch> {
    return this.#scratch.open();
  }

  /**
   * Looks at a file without decoding it, for 30 s at most. Throws `MediaRefused` for what is not taken; a file that takes
   * longer counts as damaged.
   */
  async probe(file: string, signal: AbortSignal): Promise<Recording> {
    try {
      const head = await readHead(file);
      const sound = soundOf(await this.#tracks(file, head, signal), head);
      let durationMs = 0;
      const { code } = await this.#run('ffmpeg', lengthArgs, { input: file, ms: probeMs, signal }, (line) => {
        durationMs = timeOf(line) ?? durationMs;
      });
      if (durationMs >= longestReadMs) throw new MediaRefused('too_long');
      if (code !== 0 || durationMs <= 0) throw new MediaRefused('damaged');
      return { durationMs, ...sound };
    } catch (error) {
      throw error instanceof OutOfTime ? new MediaRefused('damaged') : error;
    }
  }

  /** Decodes a file once, for 10 min at most. Throws `MediaRefused` for one that cannot be decoded or is too long. */
  async silences(file: string, signal: AbortSignal): Promise<Silences> {
    let durationMs = 0;
    const silences: { startMs: number; endMs: number }[] = [];
    let startMs: number | undefined;
    const ended = await this.#run('ffmpeg', silenceArgs, { input: file, ms: decodeMs, signal }, (line) => {
      durationMs = timeOf(line) ?? durationMs;
      const [, edge, at] = /^lavfi\.silence_(start|end)=(-?[\d.]+)$/.exec(line) ?? [];
      if (edge === 'start') startMs = Math.max(0, Math.round(Number(at) * 1000));
      if (edge !== 'end' || startMs === undefined || silences.length >= mostSilences) return;
      silences.push({ startMs, endMs: Math.round(Number(at) * 1000) });
      startMs = undefined;
    });
    if (durationMs >= longestReadMs) throw new MediaRefused('too_long');
    if (ended.code !== 0 || durationMs <= 0) throw faultOf(ended);
    // One that lasts to the end has no end of its own.
    if (startMs !== undefined && startMs < durationMs) silences.push({ startMs, endMs: durationMs });
    return { durationMs, silences };
  }

  /**
   * Cuts from `fromMs` to `toMs` (30 min at most) into the scratch: FLAC of one channel at 16 kHz, or Opus where FLAC has more
   * than 24 MB. It begins at `fromMs` within 20 ms, and has nothing of the file's metadata.
   */
  async part(file: string, fromMs: number, toMs: number, scratch: Scratch, signal: AbortSignal): Promise<MediaPart> {
    const isWhole = Number.isSafeInteger(fromMs) && Number.isSafeInteger(toMs);
    if (!isWhole || fromMs < 0 || toMs <= fromMs || toMs - fromMs > longestPartMs) {
      throw new RangeError(`no part of a recording: ${fromMs} to ${toMs} ms`);
    }
    const name = join(scratch.dir, `${fromMs}-${toMs}`);
    const flac = `${name}.flac`;
    const cut = (places: Places): string[] => partArgs(places, fromMs, toMs);
    await this.#write(cut, { input: file, output: flac, signal });
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
   * the end of its file: then there is silence.
   */
  async clips(parts: readonly Clip[], gapMs: number, scratch: Scratch, signal: AbortSignal): Promise<MediaPart> {
    const wholeMs = joinedMs(parts, gapMs);
    const wav = join(scratch.dir, 'clips.wav');
    const samples = join(scratch.dir, 'clips.raw');
    try {
      await using joined = await open(wav, 'w', 0o600);
      await joined.appendFile(wavHead(wholeMs * bytesAMs));
      for (const { file, spans } of batchesOf(parts)) {
        const args = (places: Places): string[] => clipsArgs(places, spans, gapMs);
        await this.#write(args, { input: file, output: samples, signal });
        const wanted = bytesAMs * spans.reduce((sum, { startMs, endMs }) => sum + endMs - startMs + gapMs, 0);
        const bytes = await readFile(samples);
        if (bytes.length !== wanted) throw new Error(`clips of ${bytes.length} bytes, not ${wanted}`);
        await joined.appendFile(bytes);
      }
      return await this.part(wav, 0, wholeMs, scratch, signal);
    } finally {
      await rm(samples, { force: true });
      await rm(wav, { force: true });
    }
  }

  async #tracks(file: string, head: Uint8Array, signal: AbortSignal): Promise<string> {
    let json = '';
    const { code, said } = await this.#run('ffprobe', tracksArgs, { input: file, ms: probeMs, signal }, (line) => {
      json += `${line}\n`;
      return json.length <= mostTracksText;
    });
    if (code !== 0) throw new MediaRefused(openFault(head, said));
    return json;
  }

  async #write(
    argsFor: (places: Places) => string[],
    { input, output, signal }: { input: string; output: string; signal: AbortSignal },
  ): Promise<void> {
    let writtenMs = 0;
    const ended = await this.#run('ffmpeg', argsFor, { input, output, ms: decodeMs, signal }, (line) => {
      writtenMs = timeOf(line) ?? writtenMs;
    });
    // A file whose samples are elsewhere makes an empty one, and no error.
    if (ended.code === 0 && writtenMs > 0) return;
    await rm(output, { force: true });
    throw faultOf(ended);
  }

  /** Runs a program on one file, in the cage where there is one. */
  async #run(
    program: 'ffmpeg' | 'ffprobe',
    argsFor: (places: Places) => string[],
    { input, output, ms, signal }: { input: string; output?: string; ms: number; signal: AbortSignal },
    onLine: (line: string) => boolean | void,
  ): Promise<Ended> {
    const start = await this.#found();
    const path = programPath(program);
    if (!start || path === undefined)
      throw new ApiError('unavailable', `recordings cannot be read here: ${mediaCommand}`);
    const bound: Bound = { input, ...(output !== undefined && { folder: dirname(output) }) };
    const places =
      start.cage === 'bwrap'
        ? { input: inCage.input, output: join(inCage.folder, basename(output ?? '')) }
        : { input, output: output ?? '' };
    const words = [...start.words, ...(start.cage === 'bwrap' ? cageWords(bound) : []), path, ...argsFor(places)];
    await access(input).catch(() => {
      throw new Error('the recording is not where it was');
    });
    const ran = await this.#programs.run(words, { ms, signal, onLine });
    // Where the system refuses a lower priority `nice` says so, and goes on.
    const ended = { ...ran, said: ran.said.replace(/^nice: cannot set niceness: .*\n?/, '') };
    if (/^(?:bwrap|setpriv|prlimit|nice): /.test(ended.said)) throw new Error('the cage of a recording did not start');
    if (ended.code !== 0) {
      // Its words name the file.
      const said = ended.said.replaceAll(input, 'input').replaceAll(output ?? '\0', 'output');
      this.#log.debug({ program, code: ended.code, said }, 'a recording could not be read');
    }
    return ended;
  }

  async #found(): Promise<Start | undefined> {
    this.#start ??= await this.#find();
    return this.#start;
  }

  /** Tries how ffmpeg starts here, the strictest way first. */
  async #find(): Promise<Start | undefined> {
    const path = programPath('ffmpeg');
    if (path === undefined || programPath('ffprobe') === undefined) return undefined;
    for (const { kind, words } of this.#chains) {
      const command = [...words, ...(kind === 'bwrap' ? cageWords({}) : []), path, '-version'];
      let version: string | undefined;
      const options = { ms: versionMs, signal: AbortSignal.any([]) };
      const onLine = (line: string): void => {
        version ??= /^ffmpeg version (\S+)/.exec(line)?.[1];
      };
      const ended = await this.#programs.run(command, { ...options, onLine }).catch(() => undefined);
      if (ended?.code === 0 && version !== undefined) return { ffmpeg: version, cage: kind, words };
    }
    return undefined;
  }
}

/** Why a pass failed: the machine's fault can be tried again, the file's cannot. */
function faultOf({ code, said }: Ended): Error {
  if (said.includes('No space left')) return new Error('the disk has no room for a part of a recording');
  const isKilled = code === null || code === 128 + constants.signals.SIGKILL;
  return isKilled ? new Error('a program that reads recordings was killed') : new MediaRefused('damaged');
}

/** Milliseconds of a line of ffmpeg's progress; undefined for another line. */
function timeOf(line: string): number | undefined {
  const [, micros] = /^out_time_us=(\d+)$/.exec(line) ?? [];
  return micros === undefined ? undefined : Math.round(Number(micros) / 1000);
}

async function readHead(file: string): Promise<Uint8Array> {
  await using handle = await open(file).catch(() => {
    throw new Error('the recording is not where it was');
  });
  const bytes = Buffer.alloc(headBytes);
  const { bytesRead } = await handle.read(bytes, 0, headBytes, 0);
  return bytes.subarray(0, bytesRead);
}
