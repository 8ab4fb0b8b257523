import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { objectOf, objectsOf, type Value } from '@svc/inference';
import { systemClock } from '../../kernel/base/clock.ts';
import { CommandError } from '../../kernel/base/command-error.ts';
import { createLog } from '../../kernel/base/log.ts';
import { type ProvidersPlace, providersPath, readProvidersText } from '../../kernel/outside/providers.ts';
import { createUpstream } from '../../kernel/outside/upstream.ts';
import { copyForPlatform, type NewProvider, providerKinds } from '../inference/index.ts';
import { writeWhole } from '../providers/index.ts';
import { SherpaWorkers } from './kinds/sherpa.ts';
import { parseSpeech, type SpeechEntry, type SpeechKind, speechKinds } from './speech.file.ts';
import { hearBy } from './speech.providers.ts';

/** The options of `svc providers add` for a provider of speech. */
export interface NewSpeech extends NewProvider {
  modelDir?: string;
  diarizes?: boolean;
}

const readEntries = (place: ProvidersPlace): SpeechEntry[] => parseSpeech(readProvidersText(place), systemClock);

/** Every provider of speech in the file, in the order in which they are tried. */
export const listSpeech = (place: ProvidersPlace): object[] =>
  readEntries(place).map(({ id, kind, baseUrl, key, models, modelDir, minutePrice }) => ({
    id,
    protocol: `speech: ${kind}`,
    base_url: modelDir ?? baseUrl,
    key: key.isNone ? 'none' : (key.fault ?? 'set'),
    models: models.join(', '),
    unpriced: minutePrice === undefined ? models.slice(0, 1).join('') : '',
  }));

/** Sends every provider of speech a second of silence; tells which one answers, and in how many milliseconds. */
export async function checkSpeech(place: ProvidersPlace): Promise<{ ok: boolean; providers: object[] }> {
  const entries = readEntries(place);
  if (entries.length === 0) return { ok: true, providers: [] };
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'));
  const upstream = createUpstream();
  const workers = new SherpaWorkers({ clock: systemClock, log: createLog('silent') });
  try {
    const file = join(folder, 'silence.flac');
    writeFileSync(file, silence);
    const parts = { upstream, clock: systemClock, workers, signal: new AbortController().signal };
    const rows = await Promise.all(entries.map((entry) => checkEntry(entry, file, parts)));
    return { ok: rows.every(({ ok }) => ok), providers: rows };
  } finally {
    await Promise.all([workers.stop(), upstream.close()]);
    rmSync(folder, { recursive: true });
  }
}

async function checkEntry(entry: SpeechEntry, file: string, parts: Parameters<typeof hearBy>[2]) {
  const began = systemClock.monotonic();
  const took = (): string => `${Math.round(systemClock.monotonic() - began)} ms`;
  const window = { file, contentType: 'audio/flac', bytes: silence.length, durationMs: 1_000, terms: [] } as const;
  try {
    const { model } = await hearBy(entry, window, parts);
    const unpriced = entry.minutePrice === undefined ? model : '';
    return { lane: entry.id, ok: true, found: `${model} hears in ${took()}`, unpriced };
  } catch (error) {
    return { lane: entry.id, ok: false, found: `${(error as Error).message}, after ${took()}` };
  }
}

/** A second of silence, as FLAC. */
const silence = Buffer.from(
  'ZkxhQ4AAACIEgASAAAALAAALA+gA8AAAPoAiBUsPTuOrp+BUkP0J1Xmd//g1CAADAAAAakT/+DUIAQQAAAAGPP/4NQgCDQAAALK0//g1CAMKAAAA3sz/+DUIBB8AAABbof/4NQgFGAAAADfZ//g1CAYRAAAAg1H/+DUIBxYAAADvKf/4NQgIOwAAAAmO//g1CAk8AAAAZfb/+DUICjUAAADRfv/4NQgLMgAAAL0G//g1CAwnAAAAOGv/+KUIDYkAAAB5IA==',
  'base64',
);

/** Adds a provider of speech to the file, which it makes if it is not there; a platform that runs reads it within 5 s. */
export function addSpeech(place: ProvidersPlace, kind: SpeechKind, given: NewSpeech): object {
  const id = given.id ?? kind;
  const before = read(place);
  const entries = objectsOf(before['speech']);
  if (entries.some((one) => one['id'] === id)) {
    throw new CommandError(
      `${providersPath(place)} has a provider of speech ${id} already; give this one a name: --id`,
    );
  }
  const entry: Value = {
    id,
    kind,
    ...(given.url !== undefined && { base_url: addressOf(kind, given.url) }),
    ...(given.keyEnv !== undefined && { api_key_env: given.keyEnv }),
    ...(given.keyFile !== undefined && { api_key_file: resolve(given.keyFile) }),
    ...(given.model !== undefined && { models: given.model }),
    ...(given.modelDir !== undefined && { model_dir: resolve(given.modelDir) }),
    ...(given.diarizes !== undefined && { diarizes: given.diarizes }),
  };
  const fault = parsed({ speech: [entry] })[0]?.key.fault;
  if (fault !== undefined) throw new CommandError(`${id}: ${fault}`);
  const copied = given.keyFile && copyForPlatform(place.dataDir, `speech-${id}`, resolve(given.keyFile));
  const kept = { ...entry, ...(copied && { api_key_file: copied }) };
  const next = { ...before, speech: [...entries, kept] };
  parsed(next);
  writeWhole(providersPath(place), next);
  return {
    file: providersPath(place),
    speech: id,
    ...(copied && { key: `copied to ${copied}: the user that the platform runs as cannot read it` }),
    next: './svc providers check',
  };
}

/** OpenAI's routes are below a path; an address without one is that of the server. */
const addressOf = (kind: SpeechKind, given: string): string => {
  const url = URL.parse(given);
  if (kind !== 'openai' || url?.pathname !== '/') return given;
  url.pathname = '/v1';
  return url.href;
};

/** Whether `providers add` means a provider of speech: by its kind, or where a kind may be both, by what the caller says. */
export const isSpeechKind = (kind: string, isSpeech: boolean): kind is SpeechKind =>
  speechKinds.some((one) => one === kind) && (isSpeech || !providerKinds.includes(kind));

/** Takes a provider of speech out of the file; undefined when the file has none of that name. */
export function removeSpeech(place: ProvidersPlace, id: string): object | undefined {
  const before = read(place);
  const entries = objectsOf(before['speech']);
  if (!entries.some((one) => one['id'] === id)) return undefined;
  writeWhole(providersPath(place), { ...before, speech: entries.filter((one) => one['id'] !== id) });
  return { file: providersPath(place), removed: id };
}

function read(place: ProvidersPlace): Value {
  const text = existsSync(providersPath(place)) ? readProvidersText(place) : undefined;
  return text === undefined ? {} : objectOf(JSON.parse(text));
}

/** Reads what will be written; says what is wrong with it as a command does. */
function parsed(next: object): SpeechEntry[] {
  try {
    return parseSpeech(JSON.stringify(next), systemClock);
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}
