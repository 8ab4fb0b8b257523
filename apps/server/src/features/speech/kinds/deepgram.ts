import { numberOf, objectOf, objectsOf, textOf, type Value } from '@svc/inference';
import type { HeardWord } from '@svc/speech';
import { ProviderFailure } from '../speech.errors.ts';
import { askJson, audioOf, msOf } from './ask.ts';
import { type Asking, type KindHeard, termsWithin } from './kind.ts';

/** Its bounds for terms are 100, and 500 tokens. */
const mostTerms = 100;
const mostCharacters = 1_500;

/** Deepgram: words with times, confidence and speakers. */
export async function deepgram(asking: Asking): Promise<KindHeard> {
  const { entry, window, key } = asking;
  const model = entry.models[0] ?? '';
  const asked = new URLSearchParams({ model, punctuate: 'true', smart_format: 'true', utterances: 'true' });
  if (entry.diarizes) asked.set('diarize', 'true');
  if (window.language === undefined) asked.set('detect_language', 'true');
  else asked.set('language', window.language);
  // Older models know terms by another name.
  const name = /^(?:nova-3|flux)/.test(model) ? 'keyterm' : 'keywords';
  for (const term of termsWithin(window.terms, mostTerms, mostCharacters)) asked.append(name, term);
  const said = await askJson(asking, {
    method: 'POST',
    path: `/v1/listen?${asked.toString()}`,
    headers: { 'content-type': window.contentType, ...(key !== undefined && { authorization: `Token ${key}` }) },
    body: audioOf(window),
  });
  return heardOf(said);
}

function heardOf(said: Value): KindHeard {
  const channel = objectsOf(objectOf(said['results'])['channels'])[0];
  const best = objectsOf(channel?.['alternatives'])[0];
  if (!channel || !best || !Array.isArray(best['words'])) {
    throw new ProviderFailure('its answer has no channel with words');
  }
  const language = textOf(channel['detected_language']);
  return {
    words: objectsOf(best['words']).map((word): HeardWord => {
      const [speaker, confidence] = [numberOf(word['speaker']), numberOf(word['confidence'])];
      return {
        text: textOf(word['punctuated_word']) ?? textOf(word['word']) ?? '',
        startMs: msOf(word['start']),
        endMs: msOf(word['end']),
        ...(speaker !== undefined && { speaker: String(speaker) }),
        ...(confidence !== undefined && { confidence }),
      };
    }),
    ...(language !== undefined && { language }),
  };
}
