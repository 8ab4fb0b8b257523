import { open, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { lengthArgs, levelArgs, mostMeasured, type Places, silenceArgs, tracksArgs } from './media.args.ts';
import { channelOf, type Levels, type MediaLack, type PieceHearing, sounds, tracksHeard } from './media.hearing.ts';
import { isLossy, isShort, type Tally, tally } from './media.losses.ts';
import { tagBytes } from './media.pieces.ts';
import { hasInput, type Reader } from './media.reader.ts';
import { containers, decodeMs, longestReadMs, MediaRefused, openFault, probeMs } from './media.rules.ts';
import type { Ended } from './media.run.ts';
import { isHeadless, type Listing, listingOf, type SoundTrack } from './media.tracks.ts';

/** A silence, milliseconds. */
export interface SilentSpan {
  startMs: number;
  endMs: number;
}

/** Spans of silence in the order of time, and the length that was decoded. */
export interface Silences {
  durationMs: number;
  silences: SilentSpan[];
}

/** One file of a recording, heard. */
interface PieceHeard {
  hearing: PieceHearing;
  silences: SilentSpan[];
  lacks: MediaLack[];
}

interface Decoded extends Silences, Tally {}

/** One track, heard by itself; `levels` where its channels were measured. Its length is 0 where it has no packet. */
interface TrackHeard extends Decoded {
  track: SoundTrack;
  /** So much later than its file it begins. */
  lateMs: number;
  levels?: Levels;
}

const mostSilences = 20_000;
/** A WAV has what its recorder tells of itself before its samples: 900 bytes for broadcasts. */
const headBytes = 4_096;
const keptListing = 256 * 1024;

/** Finds out what is in a file: by its packets, or by decoding it. */
export class MediaListener {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** What a file says of itself. Throws `MediaRefused`. */
  async listing(file: string, signal: AbortSignal): Promise<Listing> {
    return (await this.#look(file, tracksArgs, signal)).listing;
  }

  /** The same, and where the last packet of its tracks ends, milliseconds, without decoding. Throws `MediaRefused`. */
  async length(file: string, signal: AbortSignal): Promise<{ listing: Listing; durationMs: number }> {
    const isJumpy = !isOgg(await readHead(file));
    const first = await this.#look(file, (places) => lengthArgs(places, 0, isJumpy), signal);
    let durationMs = 0;
    for (const { n, isKnown } of first.listing.tracks) {
      if (!isKnown) continue;
      const look = n === 0 ? first : await this.#look(file, (places) => lengthArgs(places, n, isJumpy), signal);
      // One of several that is damaged adds nothing.
      if (look.code === 0) durationMs = Math.max(durationMs, look.durationMs + look.lateMs);
    }
    if (durationMs <= 0) throw new MediaRefused('damaged');
    return { listing: first.listing, durationMs };
  }

  async #look(
    file: string,
    args: (places: Places) => string[],
    signal: AbortSignal,
  ): Promise<{ listing: Listing; durationMs: number; lateMs: number; code: number | null }> {
    const head = await readHead(file);
    let durationMs = 0;
    const look = { input: file, ms: probeMs, signal, kept: keptListing, isTail: true } as const;
    const { code, said } = await this.#reader.run(args, look, (line) => {
      durationMs = Math.max(durationMs, Number(line) || 0);
    });
    // A kill is not what the file says.
    if (!hasInput(said)) throw code === null ? faultOf({ code, said }) : new MediaRefused(openFault(head, said));
    return { listing: listingOf(said, head), durationMs, lateMs: latenessOf(said), code };
  }

  /** Decides how a file is heard, by decoding each of its tracks, and finds its silences. Throws `MediaRefused`. */
  async hear(file: string, signal: AbortSignal): Promise<PieceHeard> {
    const listing = await this.listing(file, signal);
    const { format, tracks: listed, saidMs = 0, guessMs = 0 } = listing;
    const bytes = await soundBytes(file);
    let isJumpy = Object.values(containers).some((one) => one.format === format && one.isJumpy === true);
    let heard = await this.#tracks(file, { listed, isJumpy }, signal);
    // Where its last page is not at the end its clock went back, or jumped by more than 3 h.
    const ms = Math.max(0, ...heard.map((one) => one.durationMs));
    if (format === 'ogg' && (isShort(guessMs, ms) || isShort(ms, guessMs))) {
      isJumpy = true;
      heard = await this.#tracks(file, { listed, isJumpy }, signal);
    }
    const empty = new Set(heard.filter(({ durationMs }) => durationMs === 0).map(({ track }) => track));
    const holding = heard.filter(({ track }) => !empty.has(track));
    if (holding.length === 0) throw new MediaRefused('damaged');
    const { tracks, lacks } = chosen(
      listed.filter((track) => !empty.has(track)),
      holding,
    );
    const [first] = tracks;
    const own = heard.find(({ track }) => track.n === first?.n);
    const isSum = first?.channel === undefined && first?.turns === undefined;
    const isAsMeasured = isSum && (first?.added ?? []).length === own?.track.added.length;
    const isOwn = own !== undefined && tracks.length === 1 && isAsMeasured;
    const how = { tracks, ...(isJumpy && { isJumpy }) };
    const { durationMs, silences } = isOwn ? own : await this.#silences(file, how, signal);
    if (isShort(durationMs, saidMs)) lacks.add('sound');
    const chosenOnes = heard.filter((one) => tracks.some(({ n }) => n === one.track.n));
    if (chosenOnes.some((one) => isLossy(one, { ...listing, bytes }))) lacks.add('sound');
    return { hearing: { ms: durationMs, ...how }, silences, lacks: [...lacks] };
  }

  async #tracks(
    file: string,
    { listed, isJumpy }: { listed: readonly SoundTrack[]; isJumpy: boolean },
    signal: AbortSignal,
  ): Promise<TrackHeard[]> {
    // One without a head may begin later than where it was looked for.
    const tried = listed.filter((track) => track.isKnown || isHeadless(track));
    const heard: TrackHeard[] = [];
    for (const track of tried) {
      const look = (places: Places): string[] => lengthArgs(places, track.n, isJumpy);
      const lateMs = isJumpy ? (await this.#look(file, look, signal)).lateMs : 0;
      const one = await this.#track(file, { track, lateMs, isJumpy }, signal).catch((error: unknown) => {
        // One of several that is damaged is a track that is not heard.
        if (tried.length > 1 && error instanceof MediaRefused) return undefined;
        throw error;
      });
      if (one) heard.push(one);
    }
    return heard;
  }

  async #track(
    file: string,
    { track, lateMs, isJumpy }: Pick<TrackHeard, 'track' | 'lateMs'> & { isJumpy: boolean },
    signal: AbortSignal,
  ): Promise<TrackHeard> {
    const { n, channels: count, added } = track;
    const channels = count || Infinity;
    const asked = { n, added, lateMs };
    if (channels === 1 || channels > mostMeasured)
      return {
        track,
        lateMs,
        ...(await this.#silences(file, { tracks: [asked], ...(isJumpy && { isJumpy }) }, signal)),
      };
    const sum: number[] = [];
    const measured: number[][] = Array.from({ length: channels }, () => []);
    const onLine = (line: string): void => {
      const [, which = '', level] = /^lavfi\.astats\.(\w+)\.RMS_level=(\S+)$/.exec(line) ?? [];
      if (level === undefined) return;
      const list = which === 'Overall' ? sum : measured[Number(which) - 1];
      list?.push(Number.isFinite(Number(level)) ? Number(level) : -Infinity);
    };
    const silences = await this.#decode(file, (places) => levelArgs(places, asked, isJumpy), { signal, onLine });
    return { track, lateMs, ...silences, levels: { sum, channels: measured, added } };
  }

  #silences(file: string, hearing: Omit<PieceHearing, 'ms'>, signal: AbortSignal): Promise<Decoded> {
    return this.#decode(file, (places) => silenceArgs(places, hearing), { signal });
  }

  async #decode(
    file: string,
    args: (places: Places) => string[],
    { signal, onLine }: { signal: AbortSignal; onLine?: (line: string) => void },
  ): Promise<Decoded> {
    let durationMs = 0;
    const silences: SilentSpan[] = [];
    let startMs: number | undefined;
    const told: Tally = { counts: undefined, isDamaged: false };
    const onSaid = (line: string): void => tally(told, line);
    const ended = await this.#reader.run(args, { input: file, ms: decodeMs, signal, onSaid }, (line) => {
      durationMs = timeOf(line) ?? durationMs;
      onLine?.(line);
      const [, edge, at] = /^lavfi\.silence_(start|end)=(-?[\d.]+)$/.exec(line) ?? [];
      if (edge === 'start') startMs = Math.max(0, Math.round(Number(at) * 1000));
      if (edge !== 'end' || startMs === undefined || silences.length >= mostSilences) return;
      silences.push({ startMs, endMs: Math.round(Number(at) * 1000) });
      startMs = undefined;
    });
    // It is declared, and has no packet.
    const isEmpty = durationMs <= 0 && told.counts?.packets === 0;
    if (ended.code !== 0 || (durationMs <= 0 && !isEmpty)) throw faultOf(ended);
    // One that lasts to the end has no end of its own.
    if (startMs !== undefined && startMs < durationMs) silences.push({ startMs, endMs: durationMs });
    return { durationMs, silences, ...told };
  }
}

/** Which tracks and channels are heard, and what is not. */
function chosen(
  listed: readonly SoundTrack[],
  heard: readonly TrackHeard[],
): { tracks: PieceHearing['tracks']; lacks: Set<MediaLack> } {
  const lacks = new Set<MediaLack>();
  const choices = listed.map((track) => {
    const own = heard.find((one) => one.track === track);
    return { ...track, isKnown: own !== undefined, sounds: own !== undefined && isSounding(own) };
  });
  const { tracks, isPart } = tracksHeard(choices);
  if (isPart) lacks.add('tracks');
  const those = tracks.map((n) => {
    const { track, levels, lateMs = 0 } = heard.find((one) => one.track.n === n) ?? {};
    const place = { n, ...(lateMs > 0 && { lateMs }) };
    if (!levels) return { ...place, ...(track && track.added.length > 0 && { added: track.added }) };
    const { isPart: isLost, ...how } = channelOf(levels);
    if (isLost) lacks.add('sound');
    return { ...place, ...how };
  });
  return { tracks: those, lacks };
}

/** By its levels; else whether it has anything between its silences. */
function isSounding({ levels, durationMs, silences }: TrackHeard): boolean {
  if (levels) return sounds(levels);
  return silences.reduce((left, { startMs, endMs }) => left - (endMs - startMs), durationMs) > 50;
}

/** Why a pass failed: the machine's fault can be tried again, the file's cannot. */
export function faultOf({ code, said }: Ended): Error {
  if (said.includes('No space left')) return new Error('the disk has no room for a part of a recording');
  const isKilled = code === null || code === 128 + constants.signals.SIGKILL;
  return isKilled ? new Error('a program that reads recordings was killed') : new MediaRefused('damaged');
}

/** How much later than its file a track begins, milliseconds, by what ffmpeg said; past 3 h its clock is broken. */
function latenessOf(said: string): number {
  const [, micros = '0'] = /^\[\w+ @ \w+\] Correcting start time by (\d+)$/m.exec(said) ?? [];
  const ms = Math.round(Number(micros) / 1_000);
  return ms < longestReadMs ? ms : 0;
}

/** Milliseconds of a line of ffmpeg's progress; undefined for another line. */
export function timeOf(line: string): number | undefined {
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

const isOgg = (head: Uint8Array): boolean => Buffer.from(head).toString('latin1', 0, 4) === 'OggS';

/** Bytes of a file behind a tag at its begin. */
async function soundBytes(file: string): Promise<number> {
  const head = await readHead(file);
  const { size } = await stat(file);
  return Math.max(0, size - (String.fromCharCode(...head.subarray(0, 3)) === 'ID3' ? 10 + tagBytes(head) : 0));
}
