import { between, endsSentence } from './text.ts';
import type { AssembledUtterance, AssembledWord } from './types.ts';
import type { Voice } from './voices.ts';

/** A word of a track, with its speaker. */
export interface SpokenWord extends AssembledWord {
  voice: Voice;
  /** What the provider of its window said, two letters. */
  language: string | null;
}

/** Words of one speaker and track that will be an utterance; at least one. */
export interface Spoken {
  track: AssembledUtterance['track'];
  words: SpokenWord[];
}

export const mostCharacters = 4_000;
const longestMs = 60_000;
/** A pause of this ends an utterance, a shorter one ends it after a sentence, and a still shorter one when it is long. */
const pauseMs = 1_000;
const pauseAfterSentenceMs = 600;
const pauseWhenLongMs = 300;
const longMs = 30_000;

/**
 * Words of a track, as they were said, as utterances. One ends when the speaker changes, at a pause over 1 s (600 ms
 * after a sentence's end), when it is longer than 30 s at the next sentence's end or pause of 300 ms, and at 60 s or
 * 4,000 characters.
 */
export function spokenOf(track: Spoken['track'], words: readonly SpokenWord[]): Spoken[] {
  const found: Spoken[] = [];
  let characters = 0;
  let startMs = 0;
  let endMs = 0;
  for (const word of words) {
    const own = found.at(-1)?.words;
    const before = own?.at(-1);
    const added = before ? between(before.text, word.text).length + word.text.length : 0;
    const isTooMuch = characters + added > mostCharacters || Math.max(endMs, word.endMs) - startMs > longestMs;
    if (!own || !before || isTooMuch || isBreak(before, word, endMs, startMs)) {
      found.push({ track, words: [word] });
      characters = word.text.length;
      ({ startMs, endMs } = word);
    } else {
      own.push(word);
      characters += added;
      endMs = Math.max(endMs, word.endMs);
    }
  }
  return found;
}

function isBreak(before: SpokenWord, word: SpokenWord, endMs: number, startMs: number): boolean {
  // Time goes back where windows that overlap were cut.
  if (before.voice !== word.voice || word.startMs < before.startMs) return true;
  const pause = word.startMs - endMs;
  const isLong = endMs - startMs > longMs;
  const isEnd = endsSentence(before.text);
  return pause > pauseMs || (isEnd && (isLong || pause > pauseAfterSentenceMs)) || (isLong && pause > pauseWhenLongMs);
}

/** When the last of some words ends, in ms. They need not end in the order in which they start. */
export const endOf = (words: readonly AssembledWord[]): number =>
  words.reduce((latest, { endMs }) => Math.max(latest, endMs), 0);
