import type { silenceOf } from '@svc/speech';
import type { SpeechWindow } from './kinds/kind.ts';
import { SpeechFailed } from './speech.errors.ts';
import type { SpeechHeard, SpeechProviders } from './speech.providers.ts';

const nothingHeard: SpeechHeard = { words: [], provider: 'none', model: 'none', costMicroUsd: 0 };

/** FLAC of samples that are all alike, or nearly: 50 bytes a second behind a head of 8 KiB; a whisper takes 8,000. */
const isDigitalSilence = ({ bytes, durationMs }: SpeechWindow): boolean => bytes < 10_000 + durationMs / 5;

/**
 * Has a window heard unless nothing sounds in it: providers refuse what holds no speech, and models say something all the
 * same. Where the whole track is as quiet it is heard, and a refusal of the audio is no failure. Throws as `hear` does.
 */
export async function hearOrQuiet(
  speech: SpeechProviders,
  window: SpeechWindow,
  silence: ReturnType<typeof silenceOf>,
  signal: AbortSignal,
): Promise<SpeechHeard> {
  if (silence === 'sure' || (silence === 'likely' && isDigitalSilence(window))) return nothingHeard;
  try {
    return await speech.hear(window, signal);
  } catch (error) {
    if (silence === undefined || !(error instanceof SpeechFailed) || !error.ofAudio) throw error;
    return nothingHeard;
  }
}
