import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { docs } from '@svc/contract/docs';
import type { SettingName } from './config.ts';
import { replies, streams, TestProvider } from './features/inference/inference.testing.ts';
import { TestPushService } from './features/notifications/notifications.testing.ts';
import { article, openWeb, type Web } from './features/tools/tools.testing.ts';
import { testClock, type TestClock } from './kernel/base/clock.ts';
import type { Makers } from './testing.examples.ts';
import { makers } from './testing.makers.ts';
import { http, until } from './testing.ts';
import { trustCertificate } from './testing.tls.ts';

/** The instant at which the examples play. */
const now = Date.parse('2026-11-02T09:00:00Z');

const { prompts, tools } = docs;

const stopped = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

const { chat, messages, responses, embeddings, audio } = docs;
const exampleAnswers: Readonly<Record<string, object>> = {
  '/v1/messages/count_tokens': messages.countTokens.example.response,
  '/v1/chat/completions': chat.completions.example.response,
  '/v1/messages': messages.create.example.response,
  '/v1/responses': responses.create.example.response,
  '/v1/embeddings': embeddings.create.example.response,
  '/v1/audio/transcriptions': audio.transcriptions.example.response,
  '/v1/audio/translations': audio.translations.example.response,
};
const verdict = {
  choices: [{ index: 0, delta: { content: JSON.stringify(prompts.verify.example.response.prompt.report) } }],
};
/** Lanes of the models that the examples name. */
const lanes = (url: string) => [
  {
    id: 'main',
    kind: 'openai',
    label: 'Main provider',
    base_url: `${url}/v1`,
    models: ['small-1'],
    prices: { 'small-1': { input: 1, output: 2 } },
  },
  { id: 'writer', kind: 'anthropic', base_url: url, models: ['writer-1'] },
  { id: 'thinker', kind: 'responses', base_url: `${url}/v1`, models: ['thinker-1'] },
  { id: 'vectors', kind: 'openai', base_url: `${url}/v1`, models: ['vectors-1'] },
  { id: 'judge', kind: 'openai', base_url: `${url}/judge`, models: ['judge-1'] },
  { id: 'sound', kind: 'openai', base_url: `${url}/v1`, models: ['ears-1', 'voice-1'] },
];
/** What stands around the gateways in which examples are sent: a provider of models, a page, a receiver of webhooks, a clock. */
export interface ExampleWorld extends AsyncDisposable {
  readonly clock: TestClock;
  readonly settings: Partial<Record<SettingName, string>>;
  readonly provider: TestProvider;
  readonly receiver: TestPushService;
  readonly makers: Makers;
}

/** Opens one. */
export async function openExampleWorld(): Promise<ExampleWorld> {
  await using opening = new AsyncDisposableStack();
  const clock = testClock(now);
  const provider = opening.use(new TestProvider());
  provider.script = (response, taken) =>
    taken.path === '/judge/chat/completions'
      ? streams(`data: ${JSON.stringify(verdict)}\n\n`, stopped)(response, taken)
      : replies(exampleAnswers[taken.path] ?? {})(response, taken);
  const folder = mkdtempSync(join(tmpdir(), 'svc-examples-'));
  opening.defer(() => rmSync(folder, { recursive: true, force: true }));
  const providers = join(folder, 'providers.json');
  const { url } = await provider.listen();
  const aliases = { svc: ['main'], 'svc-fast': ['judge'], 'svc-embed': ['vectors'] };
  writeFileSync(providers, JSON.stringify({ lanes: lanes(url), aliases, search: [] }));
  const web = opening.use(await openWeb());
  web.on(
    '/about',
    article('The Widget Works', [tools.fetch.example.response.content], '<meta name="author" content="Ana Pop">'),
  );
  const receiver = opening.use(new TestPushService());
  await receiver.listen(opening.use(trustCertificate()));
  const settings = {
    SVC_PROVIDERS: providers,
    SVC_FETCH_ALLOW_HOSTS: '127.0.0.1',
    SVC_FETCH_PORTS: `443,${receiver.port},${web.port}`,
  };
  const stack = opening.move();
  return {
    clock,
    settings,
    provider,
    receiver,
    makers: { ...makers, ...worldMakers({ clock, receiver, web }) },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Makers of what needs the world. */
const worldMakers = ({ clock, receiver, web }: { clock: TestClock; receiver: TestPushService; web: Web }): Makers => ({
  webhookUrl: () => Promise.resolve(`https://127.0.0.1:${receiver.port}/hook`),
  page: () => Promise.resolve(web.url('/about')),
  async trace({ gateway, account }) {
    const id = randomUUID();
    const { body } = chat.completions.example;
    const { key } = account;
    await http(gateway.url, '/v1/chat/completions', { key, body, headers: { 'x-request-id': id } });
    clock.advance(1_000);
    await until(async () => (await http(gateway.url, `/v1/receipt?trace_id=${id}`, { key })).status === 200);
    return id;
  },
});
