import type { Heard } from '@svc/speech';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { SpeechEntry } from '../speech.file.ts';
import type { SherpaWork } from './sherpa.work.ts';

/** A part of a recording as it is sent to a provider. */
export interface SpeechWindow {
  /** Path of the audio; it stays there until the answer. */
  readonly file: string;
  readonly contentType: 'audio/flac' | 'audio/ogg';
  readonly bytes: number;
  readonly durationMs: number;
  /** Two letters; unset: the provider finds out. */
  readonly language?: string;
  /** Names and jargon, the most important first; a provider gets as many as it takes. */
  readonly terms: readonly string[];
}

/** One question to one provider. */
export interface Asking {
  readonly kernel: Pick<Kernel, 'upstream' | 'clock'>;
  readonly entry: SpeechEntry;
  readonly window: SpeechWindow;
  /** Undefined: none is sent. */
  readonly key: string | undefined;
  /** Ends the question when it takes too long or nobody waits for it. */
  readonly signal: AbortSignal;
  /** Processes of the kind that works on this machine; `hear` throws `WorkFailed`, or the signal's reason. */
  readonly workers: { hear(work: SherpaWork, signal: AbortSignal): Promise<Heard> };
}

/** The words of a window, and the model that heard them where the provider chose one of several. */
export type KindHeard = Heard & { model?: string };

/** Asks a provider of one kind. Throws `ProviderFailure`; a further kind is a file like `deepgram.ts` and a line in `kinds.ts`. */
export type Kind = (asking: Asking) => Promise<KindHeard>;

/** Terms within a number of entries and characters. */
export function termsWithin(terms: readonly string[], most: number, characters: number): string[] {
  let left = characters;
  return terms.slice(0, most).filter((term) => (left -= term.length + 2) >= 0);
}
