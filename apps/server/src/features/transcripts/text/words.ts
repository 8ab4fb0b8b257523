import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { AssembledUtterance, AssembledWord } from '@svc/speech';

const [gzipped, gunzipped] = [promisify(gzip), promisify(gunzip)];
const minuteMs = 60_000;
/** Unpacked bytes of a minute: somebody who says 10 words a second needs 60 kB. */
const mostUnpacked = 8 * 1024 * 1024;

/** A word as it is packed: text, start, end, confidence, and 1 for estimated times. */
type PackedWord = [text: string, startMs: number, endMs: number, confidence: number | null, estimated?: 1];
type PackedMinute = [seq: number, words: PackedWord[]][];

/** The words of utterances, gzipped by the minute in which an utterance begins. */
export async function packWords(
  utterances: readonly AssembledUtterance[],
): Promise<{ minute: number; packed: Buffer }[]> {
  const minutes = new Map<number, PackedMinute>();
  for (const { seq, startMs, words } of utterances) {
    const minute = minuteOf(startMs);
    const packed = words.map(
      ({ text, startMs: from, endMs, confidence, estimated }): PackedWord =>
        estimated ? [text, from, endMs, confidence, 1] : [text, from, endMs, confidence],
    );
    minutes.set(minute, [...(minutes.get(minute) ?? []), [seq, packed]]);
  }
  return Promise.all(
    [...minutes].map(async ([minute, all]) => ({ minute, packed: await gzipped(JSON.stringify(all)) })),
  );
}

/** Words by the number of their utterance. */
export async function unpackWords(rows: readonly { packed: Uint8Array }[]): Promise<Map<number, AssembledWord[]>> {
  const words = new Map<number, AssembledWord[]>();
  for (const { packed } of rows) {
    const text = (await gunzipped(packed, { maxOutputLength: mostUnpacked })).toString();
    for (const [seq, all] of JSON.parse(text) as PackedMinute) {
      const unpacked = all.map(([word, startMs, endMs, confidence, estimated]) => {
        return { text: word, startMs, endMs, confidence, estimated: estimated === 1 };
      });
      words.set(seq, unpacked);
    }
  }
  return words;
}

/** The minute in which an instant lies: the words of an utterance lie with the minute in which it begins. */
export const minuteOf = (ms: number): number => Math.floor(ms / minuteMs);
