import { numberOf, objectsOf, textOf, type Value } from '@svc/inference';
import type { HeardWord } from '@svc/speech';
import { ProviderFailure } from '../speech.errors.ts';
import { askJson, audioOf, timeOf } from './ask.ts';
import { type Asking, type KindHeard, termsWithin } from './kind.ts';

/** Its universal-2 takes 200 words of terms. */
const mostTerms = 100;
const mostWordsOfTerm = 6;
const mostCharacters = 1_500;
/** Between two looks whether it is done. */
const lookEveryMs = 2_000;

/** AssemblyAI: the audio is uploaded, a transcript is asked for and looked at until it is done, and then deleted there. */
export async function assemblyai(asking: Asking): Promise<KindHeard> {
  const { window, key } = asking;
  const headers = { ...(key !== undefined && { authorization: key }) };
  const uploaded = await askJson(asking, {
    method: 'POST',
    path: '/v2/upload',
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    body: audioOf(window),
  });
  const url = textOf(uploaded['upload_url']);
  if (url === undefined) throw new ProviderFailure('its answer has no upload_url');
  const begun = await askJson(asking, {
    method: 'POST',
    path: '/v2/transcript',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(requestOf(asking, url)),
  });
  const id = textOf(begun['id']);
  if (id === undefined) throw new ProviderFailure('its answer has no id');
  const path = `/v2/transcript/${encodeURIComponent(id)}`;
  try {
    return heardOf(await finished(asking, path, headers, begun));
  } finally {
    const forgotten = forget(asking, path, headers);
    // Nobody waits any more.
    if (!asking.signal.aborted) await forgotten;
  }
}

function requestOf({ entry, window }: Asking, url: string): object {
  const fitting = window.terms.filter((term) => term.split(/\s+/).length <= mostWordsOfTerm);
  const terms = termsWithin(fitting, mostTerms, mostCharacters);
  return {
    audio_url: url,
    ...(entry.models.length > 0 && { speech_models: entry.models }),
    speaker_labels: entry.diarizes,
    ...(window.language === undefined ? { language_detection: true } : { language_code: window.language }),
    ...(terms.length > 0 && { keyterms_prompt: terms }),
  };
}

async function finished(asking: Asking, path: string, headers: Record<string, string>, begun: Value): Promise<Value> {
  for (let said = begun; ; said = await askJson(asking, { method: 'GET', path, headers })) {
    if (said['status'] === 'completed') return said;
    if (said['status'] === 'error') {
      const why = textOf(said['error']) ?? '';
      if (silent.test(why)) return { words: [] };
      throw refused(why, asking.key);
    }
    await pause(asking);
  }
}

/** Its error for a window in which nobody speaks. */
const silent = /no spoken audio/i;

/** It could not read the audio, or broke: another provider may do better, and this one has no fault that lasts. */
function refused(why: string, key: string | undefined): ProviderFailure {
  const words = key === undefined || key === '' ? why : why.replaceAll(key, '***');
  return new ProviderFailure(
    `it failed: ${words
      .replaceAll(/[\p{Cc}\s]+/gu, ' ')
      .slice(0, 300)
      .toWellFormed()}`,
  );
}

/** Waits for the next look, or for the end of the question. */
async function pause({ kernel, signal }: Asking): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = kernel.clock.after(lookEveryMs, resolve);
  const leave = (): void => resolve();
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (!signal.aborted) await promise;
    signal.throwIfAborted();
  } finally {
    cancel();
    signal.removeEventListener('abort', leave);
  }
}

const forgetMs = 10_000;

/** Deletes the transcript there. It is done also when the question was called off; a failure changes nothing of the answer. */
async function forget(asking: Asking, path: string, headers: Record<string, string>): Promise<void> {
  const ending = new AbortController();
  const cancel = asking.kernel.clock.after(forgetMs, () => ending.abort());
  await askJson({ ...asking, signal: ending.signal }, { method: 'DELETE', path, headers }).catch(() => {});
  cancel();
}

function heardOf(said: Value): KindHeard {
  if (!Array.isArray(said['words']) && textOf(said['text']) !== '') {
    throw new ProviderFailure('its answer has no words');
  }
  const [language, model] = [textOf(said['language_code']), textOf(said['speech_model_used'])];
  return {
    words: objectsOf(said['words']).map((word): HeardWord => {
      const [speaker, confidence] = [textOf(word['speaker']), numberOf(word['confidence'])];
      return {
        text: textOf(word['text']) ?? '',
        startMs: timeOf(word['start']),
        endMs: timeOf(word['end']),
        ...(speaker !== undefined && { speaker }),
        ...(confidence !== undefined && { confidence }),
      };
    }),
    ...(language !== undefined && { language }),
    ...(model !== undefined && { model }),
  };
}
