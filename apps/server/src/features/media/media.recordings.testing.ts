import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ffmpeg } from './media.testing.ts';

/** How a recording is made, and what is to come of it. */
export interface Recipe {
  name: string;
  /** Its result was looked at after the mends only. */
  held?: true;
  /** The one of its kind (channels, microphones, tracks, joined, pictures, length, refusal) that each run makes. */
  isKind?: true;
  /**
   * Arguments of ffmpeg, the last one a file name; several are put one behind the other. `{440:1.5}` is a tone of
   * 1.5 s.
   */
  make: string[];
  /** The share of the whole, or the bytes of the last file, that are kept. */
  keep?: number;
  keepLast?: number;
  /** From this share of the whole to that one it is zeros. */
  zeros?: [number, number];
  /** The clock of an Ogg jumps by so many seconds at this one. */
  jump?: [at: number, by: number];
  /** Tones that are heard one after the other; `440+660` at once. */
  hears?: string;
  ms?: number;
  /** So long it is silent before the first tone. */
  silentMs?: number;
  slackMs?: number;
  degraded?: string[];
  /** Or it is refused with this reason. */
  refused?: string;
}

/** The labelled set. */
export const recipes = JSON.parse(
  readFileSync(new URL('fixtures/recordings.json', import.meta.url), 'utf8'),
) as Recipe[];

const sources: Readonly<Record<string, (seconds: string) => string>> = {
  pic: (seconds) => `testsrc=s=64x48:r=10:d=${seconds}`,
  0: (seconds) => `anullsrc=r=48000:cl=mono:d=${seconds}`,
};
const words = (text: string): string[] =>
  text.split(' ').flatMap((word) => {
    const [, what = '', seconds = ''] = /^\{(\w+):([\d.]+)\}$/.exec(word) ?? [];
    if (what === '') return [word];
    return ['-f', 'lavfi', '-i', sources[what]?.(seconds) ?? `sine=f=${what}:d=${seconds}:r=48000`];
  });

/** Makes a recording in a folder; answers its file. */
export function makeRecording({ make, keep, keepLast, zeros = [0, 0], jump }: Recipe, folder: string): string {
  const parts = make.map((text, n) => {
    const args = words(text);
    const file = join(folder, args.pop() as string);
    ffmpeg(...args, file);
    const bytes = readFileSync(file);
    return n > 0 && n === make.length - 1 && keepLast !== undefined ? bytes.subarray(0, keepLast) : bytes;
  });
  const whole = Buffer.concat(parts);
  whole.fill(0, ...(zeros.map((share) => Math.round(whole.length * share)) as [number, number]));
  if (jump) jumpOgg(whole, jump);
  const file = join(folder, 'recording');
  writeFileSync(file, keep === undefined ? whole : whole.subarray(0, Math.round(whole.length * keep)));
  return file;
}

/** The sum of a page of Ogg, whose own four bytes count as zeros. */
function sumOf(page: Uint8Array): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1) ^ (sum < 0 ? 0x04c1_1db7 : 0);
  }
  return sum;
}

/** Writes the clock of an Opus in Ogg as a recorder does that is paused: on its pages, 48,000 a second. */
function jumpOgg(bytes: Buffer, [at, by]: [number, number]): void {
  for (let from = 0; from < bytes.length; ) {
    const segments = bytes.subarray(from + 27, from + 27 + (bytes[from + 26] as number));
    const page = bytes.subarray(from, from + 27 + segments.length + segments.reduce((sum, one) => sum + one, 0));
    const granule = page.readBigInt64LE(6);
    if (granule > BigInt(Math.round(at * 48_000))) page.writeBigInt64LE(granule + BigInt(by * 48_000), 6);
    page.writeInt32LE(0, 22);
    page.writeInt32LE(sumOf(page), 22);
    from += page.length;
  }
}

const rate = 16_000;
/** A quarter of a second holds whole waves of each tone. */
const step = rate / 4;
const tones = [440, 660, 880];
const audible = 0.01;

/** The tones of a file, one after the other as `Recipe.hears` has them. What lasts under half a second is an edge. */
export function tonesIn(file: string): string {
  const bytes = ffmpeg('-i', file, '-f', 's16le', '-ac', '1', '-ar', String(rate), '-');
  const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
  const heard: { said: string; steps: number }[] = [];
  for (let at = 0; at + step <= samples.length; at += step) {
    const part = samples.subarray(at, at + step);
    const said = tones.filter((tone) => loudness(part, tone) > audible).join('+');
    const last = heard.at(-1);
    if (last?.said === said) last.steps += 1;
    else heard.push({ said, steps: 1 });
  }
  const lasting = heard.filter(({ said, steps }) => steps > 1 && said !== '').map(({ said }) => said);
  return lasting.filter((said, n) => said !== lasting[n - 1]).join(' ');
}

/** How loud a tone is in samples, of full scale (Goertzel). */
function loudness(samples: Int16Array, tone: number): number {
  const turn = 2 * Math.cos((2 * Math.PI * tone) / rate);
  let one = 0;
  let two = 0;
  for (const sample of samples) {
    const next = sample + turn * one - two;
    two = one;
    one = next;
  }
  const power = one * one + two * two - turn * one * two;
  return (2 * Math.sqrt(Math.max(0, power))) / samples.length / 32_768;
}
