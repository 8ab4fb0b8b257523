import { createScrubber } from '../../apps/host/src/runs/scrub.ts';
import { msOf } from '../../apps/server/src/features/speech/kinds/ask.ts';
import { refusalIn } from '@svc/inference';
import { changedLines, normalizeOutput } from '@svc/matching/output';
import { estimateWords, segmentsInOrder, spreadWords } from '@svc/speech';
import { readWords } from '@svc/timetable';
import { ofWords, textsOf } from '../../packages/speech/src/assemble.testing.ts';

/** When reports are read, where they say no time of their own. */
export const readAt = Date.parse('2026-11-29T12:00:00Z');

/** A text, or a short one that is repeated before an end. */
type Long = string | { repeat: string; times: number; end: string };
const textIn = (given: Long): string =>
  typeof given === 'string' ? given : given.repeat.repeat(given.times) + given.end;

/** What is sent to a part of the product that needs no platform, by the name of the part. */
export interface Sent {
  /** Two outputs of a schedule that tells changes. */
  output: { before: Long; after: Long };
  /** A log, with the secrets and the variables that its command was given; `pieces` cut it. */
  log: { secrets: Record<string, string>; variables?: Record<string, string>; pieces: string[] };
  /** When a schedule is to run, in words. */
  words: string;
  /** What a provider of models refused with. */
  refusal: unknown;
  /** Segments that a provider of speech answered. */
  segments: { start: unknown; end: unknown; text: string; speaker?: string }[];
}

/** What comes of it, as the rows of the data say it. */
export const judges: { readonly [Part in keyof Sent]: (sent: Sent[Part]) => unknown } = {
  output: ({ before: first, after: second }) => {
    const [before, after] = [textIn(first), textIn(second)];
    if (normalizeOutput(before, readAt) === normalizeOutput(after, readAt)) return 'nothing';
    return changedLines(before, after, readAt);
  },
  log: ({ secrets, variables = {}, pieces }) => {
    const scrubber = createScrubber(new Map(Object.entries(secrets)), new Map(Object.entries(variables)));
    const stream = scrubber.stream();
    return pieces.map((piece) => stream.push(piece)).join('') + stream.end();
  },
  words: (text) => {
    const trigger = readWords(text, { now: readAt, tz: 'UTC' })?.trigger;
    return trigger ?? 'not understood';
  },
  refusal: (body) => refusalIn(typeof body === 'string' ? body : JSON.stringify(body))?.message ?? 'nothing',
  segments: (segments) => {
    const read = segments.map(({ text, start, end, speaker }) => ({
      text,
      startMs: msOf(start),
      endMs: msOf(end),
      ...(speaker !== undefined && { speaker }),
    }));
    const words = segmentsInOrder(read).flatMap(({ text, startMs, endMs, ...more }) =>
      estimateWords(text, startMs, endMs, more),
    );
    // As for a recording of a minute: what has no time at all is spread over it.
    const timed = words.some(({ startMs }) => Number.isNaN(startMs)) ? spreadWords(words, 60_000) : words;
    return textsOf(ofWords(timed)).join(' ');
  },
};
