import { clock } from './question.ts';
import type { HeardUtterance, Recording } from './types.ts';

/** UTF-16 units of an utterance in a question: with its quotes, commas and escapes. */
const sizeOf = ({ seq, speaker, startMs, text }: HeardUtterance): number =>
  JSON.stringify([seq, speaker, clock(startMs), text]).length + 1;

/**
 * A recording in parts whose utterances fit one question: `mostChars` UTF-16 units of JSON each. Parts are about equally
 * long and are cut between utterances; a longer utterance is a part of its own. Bookmarks go where they lie. A recording that
 * fits, and an empty one, is one part.
 */
export function partsOf(recording: Recording, mostChars: number = 120_000): Recording[] {
  const sizes = recording.utterances.map(sizeOf);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!(total > mostChars)) return [recording];
  // A cut may lie half of the longest utterance away from where it should: so much room is left in each part.
  const longest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const even = total / Math.ceil(total / Math.max(mostChars / 2, mostChars - longest));
  const starts = [0];
  let [before, size] = [0, 0];
  for (const [n, own] of sizes.entries()) {
    if (size > 0 && (size + own > mostChars || before + own / 2 > starts.length * even)) {
      starts.push(n);
      size = 0;
    }
    size += own;
    before += own;
  }
  return starts.map((start, n) => {
    const utterances = recording.utterances.slice(start, starts[n + 1]);
    const from = n === 0 ? -Infinity : (utterances[0]?.startMs ?? 0);
    const to = starts[n + 1] === undefined ? Infinity : (recording.utterances[starts[n + 1] ?? 0]?.startMs ?? Infinity);
    const bookmarks = recording.bookmarks?.filter(({ atMs }) => atMs >= from && atMs < to);
    return { ...recording, utterances, ...(bookmarks && { bookmarks }) };
  });
}
