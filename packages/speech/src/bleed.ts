import { fold } from './text.ts';
import { endOf, type Spoken, type SpokenWord } from './utterances.ts';

/** Least words of what is dropped, and least shares of its time and of its words that the loudspeakers said too. */
const leastWords = 4;
const leastTime = 0.5;
const leastPercent = 80;
/** The same word of both tracks is so close in time. */
const nearMs = 1_500;
/** A pause of this between words is speech still. */
const joinedMs = 500;
/** Words of the loudspeakers that one of the microphone is compared with. */
const mostCandidates = 16;
/** A run ends with so many words in a row that were not heard from the loudspeakers. */
const mostOthers = 3;

/**
 * The words of the microphone's utterances without those that it picked up from the loudspeakers. An utterance, or a run of
 * words in it, is dropped when it has 4 words or more, 80 % of them are words of the system track in the same order and at
 * nearly the same time, and the system track speaks for 50 % of its time. Other words of it stay where that is silent.
 */
export function withoutBleed(mic: readonly Spoken[], system: readonly SpokenWord[]): SpokenWord[] {
  if (system.length === 0) return mic.flatMap(({ words }) => words);
  const echoes = echoesOf(mic, system);
  const speech = speechOf(system);
  return mic.flatMap(({ words }) => {
    if (isBleed(words, echoes, speech)) return ownOf(words, echoes, speech);
    return withoutRuns(words, echoes, speech);
  });
}

function isBleed(words: readonly SpokenWord[], echoes: Echoes, speech: Speech): boolean {
  const counted = words.filter((word) => echoes.has(word));
  if (counted.length < leastWords) return false;
  const matched = counted.filter((word) => echoes.get(word)).length;
  if (!isEnough(matched, counted.length)) return false;
  const startMs = words[0]?.startMs ?? 0;
  const length = endOf(words) - startMs;
  return speech(startMs, startMs + length) >= leastTime * length;
}

/** What the user says in a pause of the loudspeakers: no word of theirs, nor one of theirs that was heard wrong. */
const ownOf = (words: readonly SpokenWord[], echoes: Echoes, speech: Speech): SpokenWord[] =>
  words.filter(
    (word) => echoes.get(word) === false && speech(word.startMs, Math.max(word.endMs, word.startMs + 1)) === 0,
  );

const isEnough = (matched: number, counted: number): boolean => matched * 100 >= counted * leastPercent;

/** Leaves out runs that begin and end with an echo. A run that is long enough is judged once, as a whole. */
function withoutRuns(words: readonly SpokenWord[], echoes: Echoes, speech: Speech): SpokenWord[] {
  const kept: SpokenWord[] = [];
  for (let n = 0; n < words.length; ) {
    const end = echoes.get(words[n] as SpokenWord) === true ? runEnd(words, n, echoes) : n;
    const run = words.slice(n, Math.max(end, n + 1));
    kept.push(...(isBleed(run, echoes, speech) ? ownOf(run, echoes, speech) : run));
    n += run.length;
  }
  return kept;
}

/** Where the longest run from `start` ends whose share of echoes is enough. */
function runEnd(words: readonly SpokenWord[], start: number, echoes: Echoes): number {
  let end = start;
  let counted = 0;
  let matched = 0;
  let others = 0;
  for (let n = start; n < words.length && others < mostOthers; n += 1) {
    const isEcho = echoes.get(words[n] as SpokenWord);
    if (isEcho === undefined) continue;
    counted += 1;
    others = isEcho ? 0 : others + 1;
    if (!isEcho) continue;
    matched += 1;
    if (isEnough(matched, counted)) end = n + 1;
  }
  return end;
}

/** Whether each word of the microphone was heard from the loudspeakers. Words without a letter or digit are not in it. */
type Echoes = Map<SpokenWord, boolean>;

/**
 * The most words that both tracks have in the same order, each pair near in time: the longest rising sequence of places in
 * the system track, found in O(n log n).
 */
function echoesOf(mic: readonly Spoken[], system: readonly SpokenWord[]): Echoes {
  const places = placesOf(system);
  const echoes: Echoes = new Map();
  /** tails[n]: the pair with the lowest place that ends a sequence of n + 1 pairs. */
  const tails: Pair[] = [];
  for (const { words } of mic) {
    for (const word of words) {
      const folded = fold(word.text);
      if (folded === '') continue;
      echoes.set(word, false);
      // The highest place first, so that no word is used twice.
      for (const place of near(places.get(folded) ?? [], middle(word))) {
        const at = firstAtLeast(tails.length, (n) => (tails[n] as Pair).place >= place);
        tails[at] = { word, place, before: tails[at - 1] };
      }
    }
  }
  for (let pair = tails.at(-1); pair; pair = pair.before) echoes.set(pair.word, true);
  return echoes;
}

interface Pair {
  word: SpokenWord;
  /** Place in the system track, by the middle of words. */
  place: number;
  before: Pair | undefined;
}

const middle = ({ startMs, endMs }: SpokenWord): number => (startMs + endMs) / 2;

/** Places and times of each folded word, in order of time. */
function placesOf(system: readonly SpokenWord[]): Map<string, { place: number; at: number }[]> {
  const places = new Map<string, { place: number; at: number }[]>();
  const sorted = system.toSorted((a, b) => middle(a) - middle(b));
  for (const [place, word] of sorted.entries()) {
    const folded = fold(word.text);
    const own = places.get(folded) ?? [];
    places.set(folded, own);
    own.push({ place, at: middle(word) });
  }
  return places;
}

/** Places near a time, the highest first; of very many those around it. */
function near(places: readonly { place: number; at: number }[], at: number): number[] {
  const nextAt = firstAtLeast(places.length, (n) => (places[n]?.at ?? 0) >= at);
  return places
    .slice(Math.max(0, nextAt - mostCandidates / 2), nextAt + mostCandidates / 2)
    .filter((found) => Math.abs(found.at - at) <= nearMs)
    .map(({ place }) => place)
    .toReversed();
}

/** How many ms of [from, to] the system track speaks. */
type Speech = (from: number, to: number) => number;

function speechOf(system: readonly SpokenWord[]): Speech {
  const spans: { from: number; to: number; before: number }[] = [];
  for (const { startMs, endMs } of system) {
    const last = spans.at(-1);
    if (last && startMs <= last.to + joinedMs) last.to = Math.max(last.to, endMs);
    else spans.push({ from: startMs, to: endMs, before: last ? last.before + last.to - last.from : 0 });
  }
  const until = (at: number): number => {
    const span = spans[firstAtLeast(spans.length, (n) => (spans[n]?.from ?? 0) > at) - 1];
    return span ? span.before + Math.min(at, span.to) - span.from : 0;
  };
  return (from, to) => until(to) - until(from);
}

/** The first n in [0, length] for which a condition holds that holds for all after it. */
function firstAtLeast(length: number, holds: (n: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const n = (low + high) >> 1;
    if (holds(n)) high = n;
    else low = n + 1;
  }
  return low;
}
