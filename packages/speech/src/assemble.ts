import { withoutBleed } from './bleed.ts';
import { joinedByRoll } from './roll.ts';
import { type HeardClip, votesOf } from './roll.votes.ts';
import { languageCode, languageOf } from './language.ts';
import { stitched } from './seams.ts';
import { joinWords } from './text.ts';
import type {
  Assembled,
  AssembledSpeaker,
  AssembledUtterance,
  Heard,
  HeardWindow,
  RollClip,
  TrackHeard,
  VocabularyEntry,
} from './types.ts';
import { endOf, type Spoken, type SpokenWord, spokenOf } from './utterances.ts';
import { corrected } from './vocabulary.ts';
import { type Terms, termsOf } from './vocabulary.index.ts';
import { matchVoices, type Names, type Voice } from './voices.ts';
import { repairedWindows } from './words.ts';

/** Tracks that are read. */
const mostTracks = 8;

/**
 * Puts a transcript together from what providers heard: repairs each window's words, stitches windows by time, matches
 * speakers over windows and tracks, leaves out what the microphone picked up from the loudspeakers, makes utterances and
 * corrects names. Never throws for what a provider answered. `language` (name or code) is the language that the caller set;
 * it wins over what was heard. `roll` is what a provider heard in the clips of `planRoll`: it joins speakers over windows.
 */
export function assemble(recording: {
  durationMs: number;
  tracks: readonly TrackHeard[];
  vocabulary?: readonly VocabularyEntry[];
  language?: string | null;
  roll?: { clips: readonly RollClip[]; heard: Heard };
}): Assembled {
  const votes = recording.roll && votesOf(recording.roll);
  const self: Voice = { global: undefined, vector: undefined };
  const tracks = recording.tracks.slice(0, mostTracks).map((heard) => ({
    track: heard.track,
    words: wordsOf(heard, heard.track === 'mic' ? self : undefined, recording.durationMs, votes?.get(heard.track)),
  }));
  const system = tracks.filter(({ track }) => track === 'system').flatMap(({ words }) => words);
  system.sort((a, b) => a.startMs - b.startMs);
  let droppedBleedWords = 0;
  const spoken = tracks.flatMap(({ track, words }) => {
    if (track !== 'mic') return spokenOf(track, words);
    const kept = withoutBleed(spokenOf(track, words), system);
    droppedBleedWords += words.length - kept.length;
    return spokenOf(track, kept);
  });
  // The sort is stable: of two that start at once the first track's comes first.
  spoken.sort((a, b) => (a.words[0]?.startMs ?? 0) - (b.words[0]?.startMs ?? 0));
  const labels = new Map<Voice, string>();
  for (const { words } of spoken) {
    for (const { voice } of words.slice(0, 1)) if (!labels.has(voice)) labels.set(voice, `S${labels.size + 1}`);
  }
  const terms = termsOf(recording.vocabulary ?? []);
  const utterances = spoken.map((own, seq) => utteranceOf(own, seq, labels, terms));
  const asked = recording.language ? languageCode(recording.language) : null;
  return {
    utterances,
    speakers: speakersOf(utterances, labels, self),
    language: asked ?? mostSpoken(utterances) ?? languageOf(textOf(utterances)),
    droppedBleedWords,
  };
}

/**
 * The words of a track in the order in which they were said, none twice, each with its speaker; all of one if that is
 * given.
 */
function wordsOf(
  track: TrackHeard,
  only: Voice | undefined,
  durationMs: number,
  clips: readonly HeardClip[] | undefined,
): SpokenWord[] {
  const windows = repairedWindows(track.windows);
  const voices = only ? [] : voicesOf(windows, clips);
  const bound = (at: number): number => (durationMs >= 0 ? Math.min(at, Math.round(durationMs)) : at);
  return stitched(windows).flatMap((kept, n) => {
    const { language } = windows[n]?.heard ?? {};
    const code = typeof language === 'string' ? languageCode(language) : null;
    return kept.flatMap(({ speaker, startMs, endMs, ...word }): SpokenWord[] => {
      const voice = only ?? voices[n]?.get(speaker);
      return voice ? [{ ...word, startMs: bound(startMs), endMs: bound(endMs), voice, language: code }] : [];
    });
  });
}

function voicesOf(windows: readonly HeardWindow[], clips: readonly HeardClip[] | undefined): Names[] {
  const matches = matchVoices(windows);
  return clips ? joinedByRoll(windows, matches, clips) : matches.map(({ names }) => names);
}

function utteranceOf(own: Spoken, seq: number, labels: ReadonlyMap<Voice, string>, terms: Terms): AssembledUtterance {
  const heard = joinWords(own.words);
  const language = mostSpoken(own.words) ?? languageOf(heard);
  const words = corrected(own.words, terms, language, heard.length);
  const text = words ? joinWords(words) : heard;
  const known = own.words.flatMap(({ confidence }) => (confidence === null ? [] : [confidence]));
  const first = own.words[0];
  return {
    seq,
    speaker: (first && labels.get(first.voice)) ?? '',
    track: own.track,
    startMs: first?.startMs ?? 0,
    endMs: endOf(own.words),
    text,
    originalText: text === heard ? null : heard,
    confidence:
      known.length === 0 ? null : Math.round((1_000 * known.reduce((sum, one) => sum + one, 0)) / known.length) / 1_000,
    language,
    words: (words ?? own.words).map(({ text, startMs, endMs, confidence, estimated }) => ({
      text,
      startMs,
      endMs,
      confidence,
      estimated,
    })),
  };
}

/** The language of most of the time, or null when no provider named one. */
function mostSpoken(parts: readonly { startMs: number; endMs: number; language: string | null }[]): string | null {
  const times = new Map<string, number>();
  for (const { startMs, endMs, language } of parts) {
    // A word or utterance without length counts a little.
    if (language !== null) times.set(language, (times.get(language) ?? 0) + endMs - startMs + 1);
  }
  let most: string | null = null;
  for (const [language, time] of times) if (most === null || time > (times.get(most) ?? 0)) most = language;
  return most;
}

/** The beginning of the transcript: enough to tell its language. */
function textOf(utterances: readonly AssembledUtterance[]): string {
  return utterances
    .slice(0, 500)
    .map(({ text }) => text)
    .join(' ');
}

function speakersOf(
  utterances: readonly AssembledUtterance[],
  labels: ReadonlyMap<Voice, string>,
  self: Voice,
): AssembledSpeaker[] {
  const speakers = new Map<string, AssembledSpeaker>();
  for (const [voice, label] of labels) {
    speakers.set(label, { label, isSelf: voice === self, talkMs: 0, utteranceCount: 0 });
  }
  for (const { speaker, startMs, endMs } of utterances) {
    const own = speakers.get(speaker);
    if (!own) continue;
    own.talkMs += endMs - startMs;
    own.utteranceCount += 1;
  }
  return [...speakers.values()];
}
