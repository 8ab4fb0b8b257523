import { basename, isAbsolute } from 'node:path';
import { wordsFor } from '@svc/contract';
import { z } from 'zod';
import type { Clock } from '../../kernel/base/clock.ts';
import { LaneKey } from '../providers/index.ts';

/** Kinds of providers: where each is, which model it has unless the file names one, and whether it tells speakers apart. */
const kinds = {
  openai: { baseUrl: 'https://api.openai.com/v1', models: ['whisper-1'], diarizes: false },
  deepgram: { baseUrl: 'https://api.deepgram.com', models: ['nova-3'], diarizes: true },
  assemblyai: { baseUrl: 'https://api.assemblyai.com', models: [], diarizes: true },
  whispercpp: { baseUrl: undefined, models: ['whisper.cpp'], diarizes: false },
  sherpa: { baseUrl: undefined, models: [], diarizes: true },
} satisfies Record<string, KindDefaults>;
interface KindDefaults {
  baseUrl: string | undefined;
  models: string[];
  diarizes: boolean;
}

/** Kinds of providers of speech. */
export type SpeechKind = keyof typeof kinds;
export const speechKinds = Object.keys(kinds) as [SpeechKind, ...SpeechKind[]];

const name = z.string().min(1).max(120);
const seconds = z.number().positive().max(3_600);

const entry = z.strictObject({
  id: z.string().regex(/^[a-z0-9_-]{1,40}$/, 'must be lower-case letters, digits, - and _'),
  kind: z.enum(speechKinds),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  api_key_env: name.optional(),
  api_key_file: z.string().min(1).max(4_096).optional(),
  models: z.array(name).max(10).default([]),
  diarizes: z.boolean().optional(),
  priority: z.int().default(0),
  connect_s: seconds.default(5),
  total_s: seconds.default(300),
  prices: z.record(name, z.strictObject({ minute: z.number().nonnegative().max(1_000) })).default({}),
  model_dir: z.string().min(1).max(4_096).optional(),
});
const file = z.looseObject({ speech: z.array(entry).max(20).default([]) });

/** A provider of speech. */
export interface SpeechEntry {
  id: string;
  kind: SpeechKind;
  /** Without a slash at its end; empty for one that works on this machine. */
  baseUrl: string;
  key: LaneKey;
  /** The first is asked. */
  models: string[];
  diarizes: boolean;
  priority: number;
  connectMs: number;
  totalMs: number;
  /** Folder of models of one that works on this machine. */
  modelDir: string | undefined;
  /** USD for a minute of audio; undefined when unknown. */
  minutePrice: number | undefined;
}

/** Reads the providers of speech in a providers file, in the order in which they are tried; throws with its first fault. */
export function parseSpeech(text: string | undefined, clock: Pick<Clock, 'monotonic'>): SpeechEntry[] {
  const parsed = file.safeParse(text === undefined ? {} : JSON.parse(text), { error: wordsFor });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is malformed'}`);
  }
  const entries = parsed.data.speech.map((given) => toEntry(given, clock));
  if (new Set(entries.map(({ id }) => id)).size < entries.length) throw new Error('speech: two have the same id');
  return entries.sort((a, b) => a.priority - b.priority);
}

function toEntry(given: z.output<typeof entry>, clock: Pick<Clock, 'monotonic'>): SpeechEntry {
  const { id, kind, api_key_env: env, api_key_file: path, model_dir: modelDir } = given;
  const defaults: KindDefaults = kinds[kind];
  const isLocal = kind === 'sherpa';
  const fault = faultOf(given);
  if (fault !== undefined) throw new Error(`speech ${id}: ${fault}`);
  const usual = isLocal ? [basename(modelDir ?? '')] : defaults.models;
  const models = given.models.length > 0 ? given.models : usual;
  const isFree = isLocal || kind === 'whispercpp';
  return {
    id,
    kind,
    baseUrl: (given.base_url ?? defaults.baseUrl ?? '').replace(/\/+$/, ''),
    key: new LaneKey({ env, file: path, commandMs: 0 }, clock),
    models,
    diarizes: given.diarizes ?? (defaults.diarizes || isDiarizing(models[0] ?? '')),
    priority: given.priority,
    connectMs: given.connect_s * 1_000,
    totalMs: given.total_s * 1_000,
    modelDir,
    minutePrice: given.prices[models[0] ?? '']?.minute ?? (isFree ? 0 : undefined),
  };
}

/**
 * A model that its maker's name says tells speakers apart: `gpt-4o-transcribe-diarize`, also behind a reseller's
 * prefix.
 */
const isDiarizing = (model: string): boolean => /diari[sz]e/i.test(model);

/** The same of a model that refuses every other form, whatever the file says: one of its maker's own. */
export const isDiarizingOnly = (model: string): boolean => /(?:^|\/)gpt-.*diari[sz]e/i.test(model);

/** What an entry of a kind has to say, and what it must not. */
function faultOf(given: z.output<typeof entry>): string | undefined {
  const { kind, base_url: url, api_key_env: env, api_key_file: path, model_dir: modelDir } = given;
  if (kind === 'sherpa') {
    if (modelDir === undefined || !isAbsolute(modelDir)) return 'model_dir: is required, an absolute path';
    return (url ?? env ?? path) ? 'base_url, api_key_env and api_key_file are not for sherpa' : undefined;
  }
  if (modelDir !== undefined) return 'model_dir: is for sherpa alone';
  if (kind === 'whispercpp' && url === undefined) return 'base_url: is required';
  if (url === undefined && env === undefined && path === undefined) return 'api_key_env or api_key_file: is required';
  return undefined;
}
