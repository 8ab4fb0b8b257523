import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { systemClock, type Clock } from '../../kernel/base/clock.ts';
import { createLog } from '../../kernel/base/log.ts';
import { createMetrics } from '../../kernel/base/metrics.ts';
import { createUpstream } from '../../kernel/outside/upstream.ts';
import type { SpeechWindow } from './index.ts';
import { SpeechProviders } from './index.ts';

/** A request that a provider got. */
export interface Got {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  body: Buffer;
  /** Fields of a form, in order; the file is the field `file`. */
  fields: [string, string][];
  /** The audio, of a form or of the body. */
  audio: Buffer | undefined;
}

/** How a provider answers one request. */
export type Says = (response: ServerResponse, got: Got) => void | Promise<void>;

/** A provider of speech of a test's own. */
export class SpeechServer implements AsyncDisposable {
  readonly got: Got[] = [];
  says: Says;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(says: Says) {
    this.says = says;
  }

  static async listen(says: Says): Promise<SpeechServer> {
    const made = new SpeechServer(says);
    await once(made.#server.listen(0, '127.0.0.1'), 'listening');
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Who is connected. */
  connections(): Promise<number> {
    return promisify(this.#server.getConnections.bind(this.#server))();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => undefined);
    // Its gateway was killed while it asked.
    if (!body) return;
    const { fields, audio } = readForm(request.headers['content-type'] ?? '', body);
    const { method = '', url = '/', headers } = request;
    const got = { method, url: new URL(url, this.url), headers, body, fields, audio: audio ?? soundOf(body) };
    this.got.push(got);
    await this.says(response, got);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const isSound = (bytes: Buffer): boolean => ['fLaC', 'OggS'].includes(bytes.subarray(0, 4).toString('latin1'));
const soundOf = (body: Buffer): Buffer | undefined => (isSound(body) ? body : undefined);

/** A form as its sender wrote it. */
function readForm(type: string, body: Buffer): Pick<Got, 'fields' | 'audio'> {
  const boundary = /^multipart\/form-data; boundary=(.+)$/.exec(type)?.[1];
  const fields: [string, string][] = [];
  let audio: Buffer | undefined;
  if (boundary === undefined) return { fields, audio };
  const text = body.toString('latin1');
  if (!text.endsWith(`\r\n--${boundary}--\r\n`)) throw new Error('the form has no end');
  for (const part of text.split(`--${boundary}`).slice(1, -1)) {
    const [head = '', ...rest] = part.slice(2, -2).split('\r\n\r\n');
    const bytes = Buffer.from(rest.join('\r\n\r\n'), 'latin1');
    const name = /name="([^"]+)"/.exec(head)?.[1] ?? '';
    if (name === 'file') audio = bytes;
    fields.push([name, name === 'file' ? (/filename="([^"]+)"/.exec(head)?.[1] ?? '') : bytes.toString('utf8')]);
  }
  return { fields, audio };
}

/** Answers JSON. */
export const answers =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Says =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** A word that a fake provider hears; times are seconds. */
export interface Spoken {
  text: string;
  start: number;
  end: number;
  speaker: number;
}

/** Two people in four words. */
export const spoken: Spoken[] = [
  { text: 'Hello,', start: 0.12, end: 0.5, speaker: 0 },
  { text: 'world.', start: 0.55, end: 1, speaker: 0 },
  { text: 'Bună', start: 1.5, end: 1.9, speaker: 1 },
  { text: 'ziua!', start: 2, end: 2.4, speaker: 1 },
];
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}]/gu, '');
const textOf = (words: readonly Spoken[]): string => words.map(({ text }) => text).join(' ');

/** Fakes of each provider's published protocol. A request that the provider would refuse is refused. */
export const protocols = {
  /** Whisper: words without punctuation; models that diarize: segments with speakers. */
  openai:
    (words = spoken, language = 'english'): Says =>
    (response, got) => {
      const { fields } = got;
      const field = (name: string) => fields.filter(([own]) => own === name).map(([, value]) => value);
      if (got.method !== 'POST' || got.url.pathname !== '/v1/audio/transcriptions' || !got.audio)
        return answers({ error: { message: 'Invalid URL' } }, 404)(response, got);
      const [format] = field('response_format');
      if (format === 'diarized_json') {
        if (field('prompt').length > 0 || field('chunking_strategy')[0] !== 'auto')
          return answers({ error: { message: 'Prompt is not supported for diarization models' } }, 400)(response, got);
        const segments = [...Map.groupBy(words, ({ speaker }) => speaker)].map(([speaker, own], n) => ({
          type: 'transcript.text.segment',
          id: `seg_${n}`,
          start: own[0]?.start,
          end: own.at(-1)?.end,
          text: ` ${textOf(own)}`,
          speaker: 'ABCDEF'[speaker],
        }));
        return answers({ task: 'transcribe', duration: 3, text: textOf(words), segments })(response, got);
      }
      if (format === 'json') return answers({ text: textOf(words), usage: { type: 'tokens' } })(response, got);
      return answers({
        task: 'transcribe',
        language,
        duration: 3,
        text: textOf(words),
        words: words.map(({ text, start, end }) => ({ word: bare(text), start, end })),
        segments: [
          { id: 0, start: 0.12, end: 2.4, text: ` ${textOf(words)}`, avg_logprob: -0.2, no_speech_prob: 0.01 },
        ],
      })(response, got);
    },

  deepgram:
    (words = spoken, language = 'ro'): Says =>
    (response, got) => {
      const asked = got.url.searchParams;
      if (got.method !== 'POST' || got.url.pathname !== '/v1/listen' || !got.audio)
        return answers({ err_code: 'Bad Request', err_msg: 'corrupt or unsupported data' }, 400)(response, got);
      const isDiarized = asked.get('diarize') === 'true';
      const heard = words.map(({ text, start, end, speaker }) => ({
        word: bare(text),
        start,
        end,
        confidence: 0.98,
        punctuated_word: text,
        ...(isDiarized && { speaker, speaker_confidence: 0.9 }),
      }));
      return answers({
        metadata: { request_id: 'r-1', duration: 3, channels: 1 },
        results: {
          channels: [
            {
              ...(asked.get('detect_language') === 'true' && {
                detected_language: language,
                language_confidence: 0.99,
              }),
              alternatives: [{ transcript: textOf(words), confidence: 0.98, words: heard }],
            },
          ],
          utterances: [],
        },
      })(response, got);
    },

  /** Upload, transcript, `polls` looks at one that is not done, delete. */
  assemblyai(words = spoken, language = 'ro', polls = 1): Says {
    let looks = 0;
    return (response, got) => {
      const route = `${got.method} ${got.url.pathname}`;
      if (route === 'POST /v2/upload' && got.audio)
        return answers({ upload_url: 'https://cdn.example.com/upload/u-1' })(response, got);
      if (route === 'POST /v2/transcript') return answers({ id: 't-1', status: 'queued' })(response, got);
      if (route === 'DELETE /v2/transcript/t-1') return answers({ id: 't-1', status: 'completed' })(response, got);
      if (route !== 'GET /v2/transcript/t-1') return answers({ error: 'Not found' }, 404)(response, got);
      looks += 1;
      if (looks <= polls) return answers({ id: 't-1', status: 'processing' })(response, got);
      return answers({
        id: 't-1',
        status: 'completed',
        language_code: language,
        speech_model_used: 'universal-2',
        text: textOf(words),
        words: words.map(({ text, start, end, speaker }) => ({
          text,
          start: start * 1_000,
          end: end * 1_000,
          confidence: 0.97,
          speaker: 'ABCDEF'[speaker],
        })),
      })(response, got);
    };
  },

  /** The server of whisper.cpp: its "words" are tokens. */
  whispercpp:
    (words = spoken, language = 'romanian'): Says =>
    (response, got) => {
      if (got.method !== 'POST' || got.url.pathname !== '/inference' || !got.audio)
        return answers({ error: "no 'file' field in the request" }, 400)(response, got);
      const tokens = words.flatMap(({ text, start, end }) => {
        const cut = Math.ceil(text.length / 2);
        const middle = (start + end) / 2;
        return [
          { word: ` ${text.slice(0, cut)}`, start, end: middle, t_dtw: -1, probability: 0.9 },
          { word: text.slice(cut), start: middle, end, t_dtw: -1, probability: 0.8 },
        ];
      });
      return answers({
        task: 'transcribe',
        language,
        duration: 3,
        text: ` ${textOf(words)}\n`,
        segments: [
          { id: 0, text: ` ${textOf(words)}`, start: 0.12, end: 2.4, tokens: [1, 2], words: tokens, avg_logprob: -0.3 },
        ],
      })(response, got);
    },
};

/** A window of 3 s whose file is real audio: a second of silence as FLAC. */
export function testWindow(folder: string, more: Partial<SpeechWindow> = {}): SpeechWindow {
  const file = join(folder, 'window.flac');
  writeFileSync(file, sound);
  return { file, contentType: 'audio/flac', bytes: statSync(file).size, durationMs: 3_000, terms: [], ...more };
}
export const sound = Buffer.from(
  'ZkxhQ4AAACIEgASAAAALAAALA+gA8AAAPoAiBUsPTuOrp+BUkP0J1Xmd//g1CAADAAAAakT/+DUIAQQAAAAGPP/4NQgCDQAAALK0//g1CAMKAAAA3sz/+DUIBB8AAABbof/4NQgFGAAAADfZ//g1CAYRAAAAg1H/+DUIBxYAAADvKf/4NQgIOwAAAAmO//g1CAk8AAAAZfb/+DUICjUAAADRfv/4NQgLMgAAAL0G//g1CAwnAAAAOGv/+KUIDYkAAAB5IA==',
  'base64',
);

/** Providers of speech of a test's own, with a file that lists `speech` and keys in files. */
export function openSpeech(speech: object[], clock: Clock = systemClock) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'));
  const path = join(folder, 'providers.json');
  const write = (next: object[]): void => writeFileSync(path, JSON.stringify({ speech: next }));
  write(speech);
  const upstream = createUpstream();
  const place = { config: { providersFile: path } as never, dataDir: folder };
  const providers = new SpeechProviders({
    ...place,
    upstream,
    clock,
    log: createLog('silent'),
    metrics: createMetrics(),
  });
  const stop = providers.start();
  return {
    folder,
    path,
    place,
    providers,
    write,
    hear: (more: Partial<SpeechWindow> = {}, signal = new AbortController().signal) =>
      providers.hear(testWindow(folder, more), signal),
    async [Symbol.asyncDispose]() {
      await stop();
      await upstream.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A key that must never be seen. */
export const secret = 'sk-very-secret-0123456789';
