/** Who speaks: `label` as the transcript has it ("S1"), `name` once somebody gave one. */
export interface DocumentSpeaker {
  label: string;
  name: string | null;
}

/** Something said: `speaker` is a label, times are milliseconds from the start of the recording. */
export interface DocumentUtterance {
  speaker: string;
  startMs: number;
  endMs: number;
  text: string;
}

/** What a model or the extractive fallback found in a transcript. `atMs` is where a key point was said. */
export interface DocumentInsights {
  summary: string;
  keyPoints: { text: string; atMs: number | null }[];
  actions: { text: string; owner: string | null; due: string | null }[];
  decisions?: string[];
  openQuestions?: string[];
}

/** A transcript as its owner exports it (document 1, Transcripts: export). */
export interface TranscriptDocument {
  title: string;
  startedAt: Date;
  durationMs: number;
  /** BCP 47. Romanian gets Romanian labels; every other language and null get English ones. */
  language: string | null;
  /** IANA name. If unset or unknown: UTC. */
  timeZone?: string;
  /** Who was told of the recording, when and how. It stands at the head. */
  consent?: string | null;
  speakers: readonly DocumentSpeaker[];
  utterances: readonly DocumentUtterance[];
  insights: DocumentInsights | null;
}

/**
 * A transcript as a stranger with a link reads it (document 1, Transcripts: public share page). It has no field for
 * decisions, open questions, suggested prompts, consent or the account: they stay private.
 */
export interface SharedDocument {
  title: string;
  startedAt: Date;
  durationMs: number;
  language: string | null;
  /** Language of whose it is: labels are in it where `language` is neither English nor Romanian. */
  locale?: string | null;
  speakers: readonly DocumentSpeaker[];
  utterances: readonly DocumentUtterance[];
  summary: string | null;
  keyPoints: readonly string[];
  actions: readonly { text: string; owner: string | null }[];
  /** When the link ends; null: never. */
  expiresAt: Date | null;
}

/** One subtitle: `lines` are broken already (two of 42 columns at most), `speaker` is a label. */
export interface DocumentCue {
  startMs: number;
  endMs: number;
  lines: readonly string[];
  speaker: string;
}
