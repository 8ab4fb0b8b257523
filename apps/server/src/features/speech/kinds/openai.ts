import { objectsOf, textOf, type Value } from '@svc/inference';
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
/** A list of words has so much of what the segments say, or words are missing in it. */
const leastListed = 0.9;

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
  const parts = segmentsOf(objectsOf(segments));
  if (timed.length > 0 && !isPart(timed, parts)) return { words: punctuated(timed, text ?? ''), ...language };
  if (parts.length > 0) return { words: wordsOfSegments(parts, timed), ...language };
  return { words: estimateWords(text ?? '', 0, durationMs), ...language };
}

type Segment = Omit<HeardWord, 'estimated'>;

function segmentsOf(segments: readonly Value[]): Segment[] {
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
  return segmentsInOrder(read);
}

/** Whether a server found no times for more than some of what it heard, and left the words out of its list. */
function isPart(words: readonly HeardWord[], segments: readonly Segment[]): boolean {
  const [own, all] = [words, segments].map((list) => list.reduce((sum, { text }) => sum + letters(text).length, 0));
  return (own ?? 0) < leastListed * (all ?? 0);
}

/** Words of segments: those of the list where these are all of a segment. */
function wordsOfSegments(segments: readonly Segment[], listed: readonly HeardWord[]): HeardWord[] {
  let at = 0;
  return segments.flatMap(({ text, startMs, endMs, ...more }) => {
    const wanted = letters(text);
    const own: HeardWord[] = [];
    let found = '';
    for (let word = listed[at]; word && found !== wanted; word = listed[at]) {
      const longer = found + letters(word.text);
      if (!wanted.startsWith(longer)) break;
      found = longer;
      own.push(word);
      at += 1;
    }
    return found === wanted && own.length > 0 ? punctuated(own, text) : estimateWords(text, startMs, endMs, more);
  });
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
