import type { Feature } from '../../kernel/feature.ts';
import type { Inference } from '../inference/index.ts';
import { speech } from './speech.ts';
import { transcriptions } from './transcriptions.ts';
import { translations } from './translations.ts';

/** Speech into text, and text into speech. */
export const audioFeature = (inference: Inference): Feature => ({
  name: 'audio',
  operations: {
    transcriptions: transcriptions(inference),
    translations: translations(inference),
    speech: speech(inference),
  },
});
