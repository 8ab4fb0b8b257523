import { numberOf, objectsOf, textOf, type Value } from '@svc/inference';
import { estimateWords, type HeardWord, segmentsInOrder } from '@svc/speech';
import { ProviderFailure } from '../speech.errors.ts';
import { askJson, formOf, msOf } from './ask.ts';
import { type Asking, type KindHeard, termsWithin } from './kind.ts';
import { confidenceOf, wordsOfTokens } from './tokens.ts';

const mostPrompt = 600;

/** The server of whisper.cpp: segments with the times of their tokens. */
export async function whispercpp(asking: Asking): Promise<KindHeard> {
  const { window, key } = asking;
  const prompt = termsWithin(window.terms, 100, mostPrompt).join(', ');
  const form = formOf(window, [
    ['response_format', 'verbose_json'],
    ['temperature', '0'],
    // Without one it takes everything for English.
    ['language', window.language ?? 'auto'],
    ...(prompt === '' ? [] : [['prompt', prompt] as const]),
  ]);
  const headers = { ...form.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const said = await askJson(asking, { method: 'POST', path: '/inference', headers, body: form.body });
  // It answers some of its refusals with 200.
  if (textOf(said['error']) !== undefined)
    throw new ProviderFailure('it failed to read the audio', { coolMs: 0, final: true });
  if (!Array.isArray(said['segments'])) throw new ProviderFailure('its answer has no segments');
  const language = textOf(said['detected_language']) ?? textOf(said['language']);
  return {
    words: segmentsInOrder(objectsOf(said['segments']).map(readSegment)).flatMap(wordsOfSegment),
    ...(language !== undefined && { language }),
  };
}

interface Segment {
  text: string;
  startMs: number;
  endMs: number;
  more: { confidence?: number };
  tokens: Value[];
}

const readSegment = (segment: Value): Segment => ({
  text: textOf(segment['text']) ?? '',
  startMs: msOf(segment['start']),
  endMs: msOf(segment['end']),
  more: confidenceOf(segment['avg_logprob']),
  tokens: objectsOf(segment['words']),
});

/** Words from tokens where these make up the text: a letter that two tokens share cannot be read from either. */
function wordsOfSegment({ text, startMs, endMs, more, tokens }: Segment): HeardWord[] {
  const words = wordsOfTokens(
    tokens.map((token) => ({
      text: textOf(token['word']) ?? '',
      startMs: msOf(token['start']),
      endMs: msOf(token['end']),
      confidence: numberOf(token['probability']),
    })),
  );
  const dense = (all: string): string => all.replaceAll(/\s+/g, '');
  if (words.length > 0 && dense(words.map((word) => word.text).join('')) === dense(text)) return words;
  return estimateWords(text, startMs, endMs, more);
}
