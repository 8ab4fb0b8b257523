import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SettingName } from '../../config.ts';
import {
  createAccount,
  http,
  type HttpAnswer,
  openTest,
  type OpenTest,
  type TestAccount,
  type TestGateway,
  until,
} from '../../testing.ts';
import { providersFile, replies, type Script, TestProvider } from '../inference/inference.testing.ts';
import { type Got, protocols, type Says, secret, SpeechServer, type Spoken } from '../speech/speech.testing.ts';
import { beginUpload, type BegunUpload, sendPiece } from '../uploads/uploads.testing.ts';
import { hearTones } from './transcripts.tones.testing.ts';

/** The words in audio. What speakers are called is another name in each window, as with real providers. */
export function spokenIn(audio: Buffer): Spoken[] {
  const heard = hearTones(audio);
  const labels = new Map<number, number>();
  const first = heard.length % 5;
  return heard.map(({ speaker, ...word }) => {
    if (!labels.has(speaker)) labels.set(speaker, (first + labels.size) % 12);
    return { ...word, speaker: labels.get(speaker) as number };
  });
}

/** Hears tones, and tells speakers apart. */
export const hearsTones: Says = (response, got) =>
  protocols.deepgram(spokenIn(got.audio as Buffer), 'en')(response, got);

/** The entry of a providers file for a server that speaks as Deepgram does. */
export const earsOf = (url: string, keyFile: string) => ({
  id: 'ears',
  kind: 'deepgram',
  base_url: url,
  api_key_file: keyFile,
  models: ['nova-3'],
  prices: { 'nova-3': { minute: 0.006 } },
});

/** Parts of a providers file. */
interface Providers {
  /** Undefined: there is a provider of speech that hears tones; null: there is none. */
  says?: Says | null;
  /** A model that writes insights and answers, and one that makes vectors; undefined: there are none. */
  model?: Script;
  settings?: Partial<Record<SettingName, string>>;
  /** In place of the provider that hears tones. */
  entries?: object[];
  log?: NodeJS.WritableStream;
  gateways?: 1 | 2;
}

/** A model's answer as chat completions stream it. */
export const saysJson =
  (value: object | string): Script =>
  (response) => {
    const content = typeof value === 'string' ? value : JSON.stringify(value);
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'writer-1', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content }, null));
    response.write(chunk({}, 'stop'));
    const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
    response.write(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'writer-1', choices: [], usage })}\n\n`,
    );
    response.end('data: [DONE]\n\n');
  };

/** Vectors whose directions are the words of a text: texts that share words are alike. */
export const wordVectors: Script = (response, taken) => {
  const input = taken.body['input'] as string[];
  const data = input.map((text, index) => {
    const embedding = Array.from({ length: 64 }, () => 0.01);
    for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? [])
      for (let n = 0; n < 3; n += 1) {
        const at = Buffer.from(word).reduce((sum, byte) => (sum * 31 + byte + n * 7) % 64, n);
        embedding[at] = (embedding[at] as number) + 1;
      }
    return { object: 'embedding', index, embedding };
  });
  return replies({ object: 'list', data, model: 'vectors-1', usage: { prompt_tokens: 5, total_tokens: 5 } })(
    response,
    taken,
  );
};

/** Records meetings for an account, as a device does. */
export class Recorder<A extends Pick<TestAccount, 'key'> = Pick<TestAccount, 'key'>> {
  readonly gateway: Pick<TestGateway, 'url'>;
  readonly account: A;

  constructor(gateway: Pick<TestGateway, 'url'>, account: A) {
    this.gateway = gateway;
    this.account = account;
  }

  /** Calls the API for the account. */
  call(method: string, path: string, body?: unknown, key = this.account.key): Promise<HttpAnswer> {
    return http(this.gateway.url, path, { method, key, ...(body !== undefined && { body }) });
  }

  /** Uploads a file in pieces of 8 MiB. */
  async upload(file: Buffer, account: Pick<TestAccount, 'key'> = this.account): Promise<BegunUpload> {
    const upload = await beginUpload(this.gateway, account, file.length);
    const most = 8 * 1024 * 1024;
    for (let at = 0; at < file.length; at += most) {
      const answer = await sendPiece(upload, account, at, file.subarray(at, at + most));
      if (answer.status !== 204) throw new Error(`a piece was answered with ${answer.status}`);
    }
    return upload;
  }

  /** Begins a recording; answers its id. */
  async begin(fields: object = {}): Promise<string> {
    const { status, body } = await this.call('POST', '/v1/transcripts', { client_id: randomUUID(), ...fields });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.transcript.id;
  }

  /** Uploads tracks and finalizes a recording with them. */
  async finalize(id: string, tracks: Record<string, Buffer>, more: object = {}): Promise<HttpAnswer> {
    const uploads = [];
    for (const [track, file] of Object.entries(tracks))
      uploads.push({ track, upload_id: (await this.upload(file)).id });
    return this.call('POST', `/v1/transcripts/${id}/finalize`, { duration_ms: 1_000, uploads, ...more });
  }

  /** Waits until the processing is over; answers the record. */
  async over(id: string, ms?: number) {
    let body: HttpAnswer['body'];
    await until(async () => {
      ({ body } = await this.call('GET', `/v1/transcripts/${id}`));
      return ['ready', 'failed'].includes(body.transcript.status);
    }, ms);
    return body.transcript;
  }
}

/** A gateway with providers of speech and models of the test's own. */
export class TranscriptsTest extends Recorder<TestAccount> implements AsyncDisposable {
  readonly base: OpenTest;
  readonly speech: SpeechServer;
  readonly model: TestProvider;
  readonly #stack: AsyncDisposableStack;

  constructor(base: OpenTest, speech: SpeechServer, model: TestProvider, stack: AsyncDisposableStack) {
    super(base.gateway, base.account);
    this.base = base;
    this.speech = speech;
    this.model = model;
    this.#stack = stack;
  }

  /** The same gateway and providers for another account, as nothing was asked yet. */
  async fresh(says: Says = hearsTones): Promise<TranscriptsTest> {
    const account = await createAccount(this.base.gateway);
    this.speech.says = says;
    this.speech.got.length = 0;
    return new TranscriptsTest({ ...this.base, account }, this.speech, this.model, new AsyncDisposableStack());
  }

  /** Asks the database meanwhile: a whole answer for each look takes more of the processor than the processing. */
  override async over(id: string, ms?: number) {
    const { sql } = this.base.gateway.kernel;
    await until(async () => {
      const over = await sql`select from transcripts.transcripts where id = ${id} and state in ('ready', 'failed')`;
      return over.length > 0;
    }, ms);
    return super.over(id, ms);
  }

  /** What the provider of speech was asked. */
  get asked(): Got[] {
    return this.speech.got;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

/** Providers of a test's own, and the file that names them. */
export interface OwnProviders extends AsyncDisposable {
  speech: SpeechServer;
  provider: TestProvider;
  /** Path of the providers file. */
  path: string;
}

/** Opens providers of speech and models. */
export async function openProviders({
  says = hearsTones,
  model,
  entries,
}: Pick<Providers, 'says' | 'model' | 'entries'> = {}): Promise<OwnProviders> {
  await using opening = new AsyncDisposableStack();
  const speech = opening.use(await SpeechServer.listen(says ?? hearsTones));
  const provider = opening.use(await new TestProvider().listen());
  if (model)
    provider.script = (response, taken) => (taken.path.endsWith('/embeddings') ? wordVectors : model)(response, taken);
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-key-'));
  opening.defer(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'key'), secret);
  const lane = (id: string, name: string) => ({
    id,
    kind: 'openai',
    base_url: `${provider.url}/v1`,
    models: [name],
    prices: { [name]: { input: 1, output: 2 } },
  });
  const { path } = opening.use(
    providersFile({
      speech: says === null ? [] : (entries ?? [earsOf(speech.url, join(folder, 'key'))]),
      lanes: model ? [lane('writer', 'writer-1'), lane('vectors', 'vectors-1')] : [],
      aliases: model ? { svc: ['writer'], 'svc-fast': ['writer'], 'svc-embed': ['vectors'] } : {},
    }),
  );
  const stack = opening.move();
  return { speech, provider, path, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Opens it. */
export async function openTranscripts({
  settings,
  gateways = 1,
  log,
  ...own
}: Providers = {}): Promise<TranscriptsTest> {
  await using opening = new AsyncDisposableStack();
  const { speech, provider, path } = opening.use(await openProviders(own));
  const base = opening.use(
    await openTest({ gateways, settings: { SVC_PROVIDERS: path, ...settings }, ...(log && { log }) }),
  );
  return new TranscriptsTest(base, speech, provider, opening.move());
}
