import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTest } from '../../testing.ts';

/** A request that a provider got. */
export interface Taken {
  path: string;
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  raw: string;
  /** Its connection was ended before the answer was whole. */
  aborted: boolean;
}

/** How a provider answers one request. */
export type Script = (response: ServerResponse, taken: Taken) => void | Promise<void>;

/** A provider of models of a test's own: it answers what its script says, and keeps what it was asked. */
export class TestProvider implements AsyncDisposable {
  readonly taken: Taken[] = [];
  /** Answers requests; tests replace it. */
  script: Script = (response) => void response.writeHead(500).end();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async listen(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    const { url: path = '', headers } = request;
    const taken = {
      path,
      headers,
      raw,
      body: headers['content-type']?.includes('json') ? (JSON.parse(raw || '{}') as Taken['body']) : {},
      aborted: false,
    };
    response.once('close', () => (taken.aborted = !response.writableFinished));
    this.taken.push(taken);
    await this.script(response, taken);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A providers file in a folder of its own. */
export function providersFile(content: object) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-providers-'));
  const path = join(folder, 'providers.json');
  const write = (next: object): void => writeFileSync(path, JSON.stringify(next));
  write(content);
  /** For a file of a key. */
  const writeText = (text: string): void => writeFileSync(path, text);
  return { path, write, writeText, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Answers JSON. */
export const replies =
  (body: object, status = 200, headers: Record<string, string> = {}): Script =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Answers an event stream, in the pieces that are given. */
export const streams =
  (...pieces: string[]): Script =>
  async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) {
      response.write(piece);
      await new Promise(setImmediate);
    }
    response.end();
  };

const chatChunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-7',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'small-1',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })}\n\n`;
const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const schema = '{"city":"Iași"}';

/** One answer in each protocol: a thought, a text, two calls of tools; 20 tokens in, 5 of them cached, 9 out. */
export const answers = {
  chat: {
    whole: {
      id: 'chatcmpl-7',
      object: 'chat.completion',
      created: 1,
      model: 'small-1',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Let me see. ☀️',
            reasoning_content: 'They want weather.',
            tool_calls: [
              { id: 'call_a', type: 'function', function: { name: 'weather', arguments: schema } },
              { id: 'call_b', type: 'function', function: { name: 'time', arguments: '{}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 9,
        total_tokens: 29,
        prompt_tokens_details: { cached_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    },
    stream: [
      chatChunk({ role: 'assistant', content: '' }),
      chatChunk({ reasoning_content: 'They want ' }),
      chatChunk({ reasoning_content: 'weather.' }),
      chatChunk({ content: 'Let me ' }),
      chatChunk({ content: 'see. ☀️' }),
      chatChunk({
        tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'weather', arguments: '' } }],
      }),
      chatChunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
      chatChunk({
        tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'time', arguments: '{}' } }],
      }),
      chatChunk({ tool_calls: [{ index: 0, function: { arguments: '"Iași"}' } }] }),
      chatChunk({}, 'tool_calls'),
      `data: ${JSON.stringify({
        id: 'chatcmpl-7',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'small-1',
        choices: [],
        usage: {
          prompt_tokens: 20,
          completion_tokens: 9,
          total_tokens: 29,
          prompt_tokens_details: { cached_tokens: 5 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
      })}\n\n`,
      'data: [DONE]\n\n',
    ],
  },
  messages: {
    whole: {
      id: 'msg_7',
      type: 'message',
      role: 'assistant',
      model: 'small-1',
      content: [
        { type: 'thinking', thinking: 'They want weather.', signature: 'c2ln' },
        { type: 'text', text: 'Let me see. ☀️' },
        { type: 'tool_use', id: 'call_a', name: 'weather', input: { city: 'Iași' } },
        { type: 'tool_use', id: 'call_b', name: 'time', input: {} },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 15, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 9 },
    },
    stream: [
      event('message_start', {
        message: {
          id: 'msg_7',
          type: 'message',
          role: 'assistant',
          model: 'small-1',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 15, cache_read_input_tokens: 5, cache_creation_input_tokens: 0, output_tokens: 1 },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
      event('ping'),
      event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'They want ' } }),
      event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'weather.' } }),
      event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }),
      event('content_block_stop', { index: 0 }),
      event('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
      event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'Let me ' } }),
      event('content_block_delta', { index: 1, delta: { type: 'text_delta', text: 'see. ☀️' } }),
      event('content_block_stop', { index: 1 }),
      event('content_block_start', {
        index: 2,
        content_block: { type: 'tool_use', id: 'call_a', name: 'weather', input: {} },
      }),
      event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{"city":' } }),
      event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '"Iași"}' } }),
      event('content_block_stop', { index: 2 }),
      event('content_block_start', {
        index: 3,
        content_block: { type: 'tool_use', id: 'call_b', name: 'time', input: {} },
      }),
      event('content_block_stop', { index: 3 }),
      event('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } }),
      event('message_stop'),
    ],
  },
  responses: {
    whole: {
      id: 'resp_7',
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'small-1',
      output: [
        { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'They want weather.' }] },
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Let me see. ☀️', annotations: [] }],
        },
        { id: 'fc_1', type: 'function_call', call_id: 'call_a', name: 'weather', arguments: schema },
        { id: 'fc_2', type: 'function_call', call_id: 'call_b', name: 'time', arguments: '{}' },
      ],
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 5 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 29,
      },
    },
    get stream(): string[] {
      const { whole } = answers.responses;
      const head = { ...whole, status: 'in_progress', output: [], usage: null };
      const [thought, message, weather, time] = whole.output;
      const thinking = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
      const text = { item_id: 'msg_1', output_index: 1, content_index: 0 };
      const part = { type: 'output_text', text: '', annotations: [] };
      const steps = [
        ['created', { response: head }],
        ['in_progress', { response: head }],
        ['output_item.added', { output_index: 0, item: { ...thought, summary: [] } }],
        ['reasoning_summary_part.added', { ...thinking, part: { type: 'summary_text', text: '' } }],
        ['reasoning_summary_text.delta', { ...thinking, delta: 'They want ' }],
        ['reasoning_summary_text.delta', { ...thinking, delta: 'weather.' }],
        ['reasoning_summary_text.done', { ...thinking, text: 'They want weather.' }],
        ['reasoning_summary_part.done', { ...thinking, part: thought?.summary?.[0] }],
        ['output_item.done', { output_index: 0, item: thought }],
        ['output_item.added', { output_index: 1, item: { ...message, content: [] } }],
        ['content_part.added', { ...text, part }],
        ['output_text.delta', { ...text, delta: 'Let me ', logprobs: [] }],
        ['output_text.delta', { ...text, delta: 'see. ☀️', logprobs: [] }],
        ['output_text.done', { ...text, text: 'Let me see. ☀️', logprobs: [] }],
        ['content_part.done', { ...text, part: { ...part, text: 'Let me see. ☀️' } }],
        ['output_item.done', { output_index: 1, item: message }],
        ['output_item.added', { output_index: 2, item: { ...weather, arguments: '' } }],
        ['function_call_arguments.delta', { item_id: 'fc_1', output_index: 2, delta: schema }],
        ['function_call_arguments.done', { item_id: 'fc_1', output_index: 2, name: 'weather', arguments: schema }],
        ['output_item.done', { output_index: 2, item: weather }],
        ['output_item.added', { output_index: 3, item: { ...time, arguments: '' } }],
        ['function_call_arguments.delta', { item_id: 'fc_2', output_index: 3, delta: '{}' }],
        ['function_call_arguments.done', { item_id: 'fc_2', output_index: 3, name: 'time', arguments: '{}' }],
        ['output_item.done', { output_index: 3, item: time }],
        ['completed', { response: whole }],
      ] as const;
      return steps.map(([type, fields], sequence_number) => event(`response.${type}`, { sequence_number, ...fields }));
    },
  },
} as const;

/** The path of each protocol at a provider. */
export const pathOf = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' } as const;

/** Answers like a provider of whichever protocol it is asked in, streaming when it is asked to. */
export const speaks: Script = async (response, taken) => {
  const protocol = (Object.keys(pathOf) as (keyof typeof pathOf)[]).find((one) => pathOf[one] === taken.path);
  const { whole, stream } = answers[protocol ?? 'chat'];
  await (taken.body['stream'] === true ? streams(...stream) : replies(whole, protocol ? 200 : 404))(response, taken);
};

/** A gateway, or several, whose lanes are providers of a test's own; closed together. */
export async function openModels<T extends string>(
  names: readonly T[],
  contentOf: (urls: Record<T, string>) => object,
  options: Parameters<typeof openTest>[0] = {},
) {
  await using opening = new AsyncDisposableStack();
  const providers = {} as Record<T, TestProvider>;
  for (const name of names) providers[name] = await opening.use(new TestProvider()).listen();
  const urls = Object.fromEntries(names.map((name) => [name, providers[name].url])) as Record<T, string>;
  const file = opening.use(providersFile(contentOf(urls)));
  const settings = { ...options.settings, SVC_PROVIDERS: file.path };
  const t = opening.use(await openTest({ ...options, settings }));
  const all = opening.move();
  return { ...t, providers, file, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
