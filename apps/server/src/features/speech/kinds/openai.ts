import { isObject, objectsOf, textOf, type Value } from '@svc/inference';
import { estimateWords, type HeardWord, segmentsInOrder } from '@svc/speech';
import { isDiarizingOnly } from '../speech.file.ts';
import { ProviderFailure } from '../speech.errors.ts';
import { askJson, formOf, msOf } from './ask.ts';
import { type Asking, type KindHeard, termsWithin } from './kind.ts';
import { confidenceOf } from './tokens.ts';

/** A prompt has 224 tokens at most, of which the last count. */
const mostPrompt = 600;
/** Words of a text that may stand before the one that is looked for. */
const lookedAhead = 6;

/** OpenAI's protocol of transcriptions: words with times; of a model that diarizes, segments with speakers. */
export async function openai(asking: Asking): Promise<KindHeard> {
  const { entry, window, key } = asking;
  const model = entry.models[0] ?? '';
  const form = formOf(window, [
    ['model', model],
    ...(window.language === undefined ? [] : [['language', window.language] as const]),
    ...formatOf(asking, model),
  ]);
  const headers = { ...form.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  const said = await askJson(asking, { method: 'POST', path: '/audio/transcriptions', headers, body: form.body });
  return heardOf(said, window.durationMs);
}

/** What is asked for in the form that the model has: later models than Whisper give text alone, or speakers without words. */
function formatOf({ entry, window }: Asking, model: string): (readonly [string, string])[] {
  // Its name says what it takes, whatever the file does: it refuses every other form.
  if (entry.diarizes || isDiarizingOnly(model)) {
    // These models refuse a prompt.
    return [
      ['response_format', 'diarized_json'],
      ['chunking_strategy', 'auto'],
    ];
  }
  const prompt = termsWithin(window.terms, 100, mostPrompt).join(', ');
  const prompted = prompt === '' ? [] : [['prompt', prompt] as const];
  if (/(?:^|\/)gpt-/.test(model)) return [['response_format', 'json'], ...prompted];
  return [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
    ...prompted,
  ];
}

function heardOf(said: Value, durationMs: number): KindHeard {
  const [words, segments, text] = [said['words'], said['segments'], textOf(said['text'])];
  if (!Array.isArray(words) && !Array.isArray(segments) && text === undefined) {
    throw new ProviderFailure('its answer has neither words nor segments nor a text');
  }
  const named = textOf(said['language']);
  const language = named === undefined ? {} : { language: named };
  const timed = objectsOf(words).map(
    (word): HeardWord => ({ text: textOf(word['word']) ?? '', startMs: msOf(word['start']), endMs: msOf(word['end']) }),
  );
  if (timed.length > 0) return { words: punctuated(timed, text ?? ''), ...language };
  const parts = objectsOf(segments).filter(isObject);
  if (parts.length > 0) return { words: wordsOfSegments(parts), ...language };
  return { words: estimateWords(text ?? '', 0, durationMs), ...language };
}

function wordsOfSegments(segments: readonly Value[]): HeardWord[] {
  const read = segments.map((segment) => {
    const speaker = textOf(segment['speaker']);
    const more = { ...confidenceOf(segment['avg_logprob']), ...(speaker !== undefined && { speaker }) };
    return {
      text: textOf(segment['text']) ?? '',
      startMs: msOf(segment['start']),
      endMs: msOf(segment['end']),
      ...more,
    };
  });
  return segmentsInOrder(read).flatMap(({ text, startMs, endMs, ...more }) =>
    estimateWords(text, startMs, endMs, more),
  );
}

const letters = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');

/** Words as they stand in the text: the list of words has no punctuation and no case of its own. */
function punctuated(words: readonly HeardWord[], text: string): HeardWord[] {
  const written = text.split(/\s+/).filter((one) => letters(one) !== '');
  let at = 0;
  return words.map((word) => {
    const wanted = letters(word.text);
    const found = written.slice(at, at + lookedAhead).findIndex((one) => letters(one) === wanted);
    if (found < 0 || wanted === '') return word;
    at += found + 1;
    return { ...word, text: written[at - 1] ?? word.text };
  });
}
