import type { SpeechKind } from '../speech.file.ts';
import { assemblyai } from './assemblyai.ts';
import { deepgram } from './deepgram.ts';
import type { Kind } from './kind.ts';
import { openai } from './openai.ts';
import { sherpa } from './sherpa.ts';
import { whispercpp } from './whispercpp.ts';

/** How each kind of provider is asked. */
export const askOf: Readonly<Record<SpeechKind, Kind>> = { openai, deepgram, assemblyai, whispercpp, sherpa };
