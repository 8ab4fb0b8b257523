import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, streamText, tool as toolOf } from 'ai';
import OpenAI from 'openai';
import { shared } from '../../testing.shared.ts';
import { createAccount, openTest } from '../../testing.ts';
import { providersFile, speaks, type Taken, TestProvider } from './inference.testing.ts';

const lanes = ['chat', 'messages', 'responses'] as const;
const tool = { name: 'weather', description: 'The weather', schema: { type: 'object', properties: {} } };
const image = 'data:image/png;base64,iVBORw0KGgo=';

/** An answer as a client read it, in terms that fit every client. */
interface Seen {
  thought: string;
  text: string;
  calls: [id: string, name: string, input: unknown][];
  finish: string | null | undefined;
  tokens: [input: number, output: number];
}
const expected: Seen = {
  thought: 'They want weather.',
  text: 'Let me see. ☀️',
  calls: [
    ['call_a', 'weather', { city: 'Iași' }],
    ['call_b', 'time', {}],
  ],
  finish: 'calls',
  tokens: [20, 9],
};

describe('clients of other makers', () => {
  const provider = new TestProvider();
  provider.script = speaks;
  const { gateway } = shared(async () => {
    await using opening = new AsyncDisposableStack();
    const { url } = await opening.use(provider).listen();
    const file = opening.use(
      providersFile({
        lanes: [
          { id: 'chat', kind: 'openai', base_url: `${url}/v1`, models: [{ name: 'chat', as: 'small-1' }] },
          { id: 'messages', kind: 'anthropic', base_url: url, models: [{ name: 'messages', as: 'small-1' }] },
          { id: 'responses', kind: 'responses', base_url: `${url}/v1`, models: [{ name: 'responses', as: 'small-1' }] },
        ],
        aliases: { svc: ['chat'] },
      }),
    );
    const t = opening.use(await openTest({ settings: { SVC_PROVIDERS: file.path } }));
    const all = opening.move();
    return { ...t, [Symbol.asyncDispose]: () => all.disposeAsync() };
  });
  const keys = async () => {
    const { key: apiKey } = await createAccount(gateway);
    return { apiKey, maxRetries: 0 };
  };
  const lastTaken = (): Taken => provider.taken.at(-1) ?? assert.fail('nothing was asked');

  async function askChat(model: string, stream: boolean): Promise<Seen> {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, ...(await keys()) });
    const request = {
      model,
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What weather?' },
            { type: 'image_url', image_url: { url: image } },
          ],
        },
      ],
      tools: [
        { type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.schema } },
      ],
      max_completion_tokens: 500,
    } satisfies OpenAI.ChatCompletionCreateParamsNonStreaming;
    if (!stream) {
      const { choices, usage } = await client.chat.completions.create(request);
      const [choice] = choices;
      const message = choice?.message as OpenAI.ChatCompletionMessage & { reasoning_content: string };
      return {
        thought: message.reasoning_content,
        text: message.content ?? '',
        calls: (message.tool_calls ?? []).map((call) => {
          assert.ok('function' in call);
          return [call.id, call.function.name, JSON.parse(call.function.arguments)];
        }),
        finish: choice?.finish_reason === 'tool_calls' ? 'calls' : choice?.finish_reason,
        tokens: [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0],
      };
    }
    let thought = '';
    const running = client.chat.completions.stream({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    running.on('chunk', ({ choices }) => {
      thought += (choices[0]?.delta as { reasoning_content?: string })?.reasoning_content ?? '';
    });
    const { choices, usage } = await running.finalChatCompletion();
    const [choice] = choices;
    return {
      thought,
      text: choice?.message.content ?? '',
      calls: (choice?.message.tool_calls ?? []).map((call) => {
        assert.ok('function' in call);
        return [call.id, call.function.name, JSON.parse(call.function.arguments)];
      }),
      finish: choice?.finish_reason === 'tool_calls' ? 'calls' : choice?.finish_reason,
      tokens: [usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0],
    };
  }

  async function askMessages(model: string, stream: boolean): Promise<Seen> {
    const client = new Anthropic({ baseURL: gateway.url, ...(await keys()) });
    const request = {
      model,
      max_tokens: 2_000,
      system: 'Be brief.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What weather?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
      ],
      tools: [{ name: tool.name, description: tool.description, input_schema: { type: 'object', properties: {} } }],
    } satisfies Anthropic.MessageCreateParamsNonStreaming;
    const message = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request);
    const blocks = message.content;
    const { usage } = message;
    return {
      thought: blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: blocks.flatMap((block) => (block.type === 'tool_use' ? [[block.id, block.name, block.input]] : [])),
      finish: message.stop_reason === 'tool_use' ? 'calls' : message.stop_reason,
      tokens: [
        (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
        usage.output_tokens,
      ],
    };
  }

  async function askResponses(model: string, stream: boolean): Promise<Seen> {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, ...(await keys()) });
    const request = {
      model,
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What weather?' },
            { type: 'input_image', image_url: image, detail: 'auto' },
          ],
        },
      ],
      tools: [
        { type: 'function', name: tool.name, description: tool.description, parameters: tool.schema, strict: false },
      ],
    } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const { output, usage, status } = stream
      ? await client.responses.stream({ ...request, stream: true }).finalResponse()
      : await client.responses.create(request);
    return {
      thought: output
        .flatMap((item) => (item.type === 'reasoning' ? item.summary : []))
        .map(({ text }) => text)
        .join(''),
      text: output
        .flatMap((item) => (item.type === 'message' ? item.content : []))
        .map((part) => (part.type === 'output_text' ? part.text : ''))
        .join(''),
      calls: output.flatMap((item) =>
        item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments)]] : [],
      ),
      finish: status === 'completed' ? 'calls' : status,
      tokens: [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0],
    };
  }

  /** The AI SDK, over one of its providers. */
  const askAi =
    (over: 'chat' | 'messages') =>
    async (model: string, stream: boolean): Promise<Seen> => {
      const { apiKey } = await keys();
      const baseURL = `${gateway.url}/v1`;
      const chosen =
        over === 'chat'
          ? createOpenAICompatible({ name: 'svc', baseURL, apiKey, includeUsage: true })(model)
          : createAnthropic({ baseURL, apiKey })(model);
      const inputSchema = jsonSchema({ type: 'object', properties: {} });
      const request = {
        model: chosen,
        system: 'Be brief.',
        messages: [
          {
            role: 'user' as const,
            content: [
              { type: 'text' as const, text: 'What weather?' },
              { type: 'image' as const, image: 'iVBORw0KGgo=', mediaType: 'image/png' },
            ],
          },
        ],
        tools: {
          weather: toolOf({ description: tool.description, inputSchema }),
          time: toolOf({ description: 'The time', inputSchema }),
        },
        maxRetries: 0,
      } as Parameters<typeof generateText>[0];
      const result = stream ? streamText(request) : await generateText(request);
      const [thought = '', text, calls, finish, usage] = await Promise.all([
        result.reasoningText,
        result.text,
        result.toolCalls,
        result.finishReason,
        result.usage,
      ]);
      return {
        thought,
        text,
        calls: calls.map(({ toolCallId, toolName, input }) => [toolCallId, toolName, input]),
        finish: finish === 'tool-calls' ? 'calls' : finish,
        tokens: [usage.inputTokens ?? 0, usage.outputTokens ?? 0],
      };
    };

  const clients = {
    'ai over chat': askAi('chat'),
    'ai over messages': askAi('messages'),
    chat: askChat,
    messages: askMessages,
    responses: askResponses,
  };
  for (const [client, ask] of Object.entries(clients)) {
    for (const lane of lanes) {
      for (const stream of [false, true]) {
        const how = `${stream ? 'a stream' : 'an answer'} of ${lane} reaches a client of ${client}`;
        test(`${how}: thinking, text, calls side by side, why it ended, every token`, async () => {
          assert.deepEqual(await ask(lane, stream), expected);
          const { body, path } = lastTaken();
          assert.equal(body['model'], 'small-1');
          const sent = JSON.stringify(body);
          for (const said of ['Be brief.', 'What weather?', 'iVBORw0KGgo=', 'The weather'])
            assert.ok(sent.includes(said), `${path} ${said}`);
        });
      }
    }
  }
});
