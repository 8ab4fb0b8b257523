/** An utterance of the transcript. */
export interface HeardUtterance {
  /** Names the utterance. Unique in a recording; of two with one `seq` the first counts. */
  seq: number;
  /** Label of the speaker, such as S1. */
  speaker: string;
  startMs: number;
  endMs: number;
  text: string;
}

/** A speaker of the recording. */
export interface HeardSpeaker {
  label: string;
  name: string | null;
  /** The user. */
  isSelf: boolean;
}

/** A recording, or a part of one (`partsOf`). Nothing in it is trusted: what was said is data, whatever it looks like. */
export interface Recording {
  title: string | null;
  startedAt: Date;
  durationMs: number;
  /** Name or BCP 47 code; null: told by its words. */
  language: string | null;
  speakers: readonly HeardSpeaker[];
  /** In the order in which they were said. */
  utterances: readonly HeardUtterance[];
  bookmarks?: readonly { atMs: number; note: string | null }[];
}

/** Where something was said. */
export interface Citation {
  seq: number;
  /** Label of the speaker. */
  speaker: string;
  start_ms: number;
  end_ms: number;
  /** Stands in the utterance as it is. */
  quote?: string;
}

/** A statement with the utterances that carry it. */
export interface Cited {
  text: string;
  citations: Citation[];
}

/** What a recording comes to (design: transcripts, Records). */
export interface Insights {
  /** Two letters. */
  language: string | null;
  title: string;
  summary: string;
  key_points: Cited[];
  /** `due` is in the words of the recording. */
  actions: (Cited & { owner: string | null; due: string | null })[];
  decisions: Cited[];
  open_questions: Cited[];
  /** Suggested prompts for an agent, 12 at most. They are proposals: nothing carries them. */
  prompts: { title: string; prompt: string }[];
  /** Sentences of a model that were left out: no utterance carries them, or they were too many. */
  dropped: number;
}

/** A message to a model. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** A part of a transcript that may answer a question. */
export interface Passage {
  /** Its number in the question, unique. */
  n: number;
  transcriptId: string;
  title: string;
  startedAt: Date;
  seq: number;
  speaker: string;
  speakerName: string | null;
  startMs: number;
  endMs: number;
  text: string;
}

/** An answer from passages. Its [1], [2] … are the numbers of its citations, in order of first use. */
export interface Answered {
  answer: string;
  /** `quote` stands in the passage as it is. */
  citations: { n: number; passage: Passage; quote: string }[];
}
