import type { SpeechWindow } from './kinds/kind.ts';
import { SpeechFailed } from './speech.errors.ts';
import type { SpeechHeard, SpeechProviders } from './speech.providers.ts';

const nothingHeard: SpeechHeard = { words: [], provider: 'none', model: 'none', costMicroUsd: 0 };

/** FLAC of samples that are all alike, or nearly: 50 bytes a second behind a head of 8 KiB; a whisper takes 8,000. */
const isDigitalSilence = ({ bytes, durationMs }: SpeechWindow): boolean => bytes < 10_000 + durationMs / 5;

/** What providers say of audio in which nobody speaks; other refusals of a window are faults. */
const saysNothing =
  /\b(?:no|without(?: any)?) (?:\w+ )?(?:speech|voice|audio|words)\b|\bsilen|\bempty\b|speech (?:was |is )?not (?:found|detected)|not (?:contain|detect)\w* (?:any )?(?:speech|audio|voice)/i;

/**
 * Has a window heard in which nothing is louder than a silence. What holds no sound at all is not sent: providers refuse it, and
 * models say something about it. A voice may be far away, so the rest is heard; that there is no speech is no failure then.
 * Throws as `hear` does.
 */
export async function hearQuiet(
  speech: SpeechProviders,
  window: SpeechWindow,
  signal: AbortSignal,
): Promise<SpeechHeard> {
  if (isDigitalSilence(window)) return nothingHeard;
  try {
    return await speech.hear(window, signal);
  } catch (error) {
    if (!(error instanceof SpeechFailed) || !error.ofAudio || !saysNothing.test(error.message)) throw error;
    return nothingHeard;
  }
}
