/** A part of a track without speech. */
export interface Silence {
  startMs: number;
  endMs: number;
}

/**
 * A part of a track that a provider hears. [startMs, endMs) is its core: the cores of all windows tile the recording.
 * [fromMs, toMs) is the audio that is sent: the core with up to 20 s of context on each side. toMs - fromMs is 15 min at most.
 */
export interface Window {
  /** 0 for the first. */
  n: number;
  startMs: number;
  endMs: number;
  fromMs: number;
  toMs: number;
}

/** A word as a provider heard it. */
export interface HeardWord {
  text: string;
  startMs: number;
  endMs: number;
  /** The provider's label of who speaks, valid in its window only unless `Heard.speakersAreGlobal`. */
  speaker?: string;
  /** 0..1. */
  confidence?: number;
  /** The provider gave no times for the word: they were spread over its segment. */
  estimated?: boolean;
}

/**
 * Answer of one provider for one window. Times are relative to the window's `fromMs`. Nothing in it is trusted but the
 * order in which it names the words of a speaker: their times may go back, lie outside of the window, or be no numbers.
 */
export interface Heard {
  words: HeardWord[];
  /** Name or BCP 47 code, as the provider says it. */
  language?: string;
  /** A label means the same speaker in every window of the track that says so. */
  speakersAreGlobal?: boolean;
  /** Voice vectors by label. They join speakers over windows and never leave `assemble`. */
  embeddings?: Record<string, readonly number[]>;
}

/** All windows of one track. `mic` is the user. */
export interface TrackHeard {
  track: 'mic' | 'system' | 'mixed';
  windows: { window: Window; heard: Heard }[];
}

/**
 * A clip of the roll: a few seconds in which one label of one window speaks alone. All clips, joined with short silences, are one
 * more piece of audio for the provider, whose labels then mean the same speaker in all windows.
 */
export interface RollClip {
  track: TrackHeard['track'];
  /** `n` of the window. */
  window: number;
  /** The provider's label there. */
  speaker: string;
  /** In the track. */
  startMs: number;
  endMs: number;
  /** Where the clip begins in the roll. */
  atMs: number;
}

/** A name or piece of jargon that the transcript should spell as `term`. */
export interface VocabularyEntry {
  term: string;
  sounds_like?: readonly string[];
  /** The entry is for speech in this language only. */
  language?: string | null;
}

/** A word of the transcript; times from the start of the recording. */
export interface AssembledWord {
  text: string;
  startMs: number;
  endMs: number;
  confidence: number | null;
  estimated: boolean;
}

/** Words of one speaker without a long pause: 4,000 characters and 60 s at most. */
export interface AssembledUtterance {
  /** Position by start, from 0. */
  seq: number;
  /** Label of the speaker: S1, S2, … */
  speaker: string;
  track: 'mic' | 'system' | 'mixed';
  startMs: number;
  endMs: number;
  text: string;
  /** The text before the vocabulary changed it, else null. */
  originalText: string | null;
  confidence: number | null;
  /** Two letters. */
  language: string | null;
  words: AssembledWord[];
}

/** A speaker of the recording. Labels are numbered in the order in which speakers first speak. */
export interface AssembledSpeaker {
  label: string;
  /** The speaker of the track `mic`. */
  isSelf: boolean;
  talkMs: number;
  utteranceCount: number;
}

/** The transcript of a recording. */
export interface Assembled {
  utterances: AssembledUtterance[];
  speakers: AssembledSpeaker[];
  /** Two letters. */
  language: string | null;
  /** Words that the microphone picked up from the loudspeakers, left out. */
  droppedBleedWords: number;
}

/** A word at its place in the recording, repaired. */
export interface PlacedWord extends AssembledWord {
  /** The provider's label. */
  speaker: string | undefined;
}

/** A window with its repaired words, in the order in which they were said. */
export interface HeardWindow {
  window: Window;
  heard: Heard;
  words: PlacedWord[];
}
